# SPDX-License-Identifier: MIT
"""What the figures depend on: processor, memory, kernel, huge pages."""
import os
import platform
import re


def read(path):
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return None


def chosen(text):
    """The word in brackets of a kernel setting such as `always [madvise] never`."""
    match = re.search(r"\[(\w+)\]", text or "")
    return match.group(1) if match else text


def facts():
    processor = re.search(r"^model name\s*: (.*)$", read("/proc/cpuinfo") or "", re.MULTILINE)
    memory = re.search(r"^MemTotal:\s*(\d+)", read("/proc/meminfo") or "", re.MULTILINE)
    huge = "/sys/kernel/mm/transparent_hugepage/"
    return {
        "processor": processor.group(1) if processor else platform.machine(),
        "architecture": platform.machine(),
        "processors": len(os.sched_getaffinity(0)),
        "memory_kib": int(memory.group(1)) if memory else None,
        "kernel": platform.release(),
        "libc": " ".join(platform.libc_ver()),
        "page_size": os.sysconf("SC_PAGE_SIZE"),
        "transparent_hugepage": chosen(read(huge + "enabled")),
        "transparent_hugepage_defrag": chosen(read(huge + "defrag")),
        "overcommit": read("/proc/sys/vm/overcommit_memory"),
        "load": os.getloadavg()[0],
    }
