# SPDX-License-Identifier: MIT
"""Peers' own sources as shared objects for bench/coherence: compiled with clang's instrumentation for ThreadSanitizer, whose functions the
program that loads them has, and what would make a thread wait or differ from run to run bound to that program too (bench/coherence/peer.cpp)."""
from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess

CLANG = "clang-19"
FLAGS = ["-O2", "-g", "-DNDEBUG", "-w", "-fPIC", "-fsanitize=thread", "-ftls-model=initial-exec", "-fno-builtin-malloc"]

# What of the C library comes from bench/coherence/peer.cpp.
REPLACED = ["pthread_mutex_init", "pthread_mutex_destroy", "pthread_mutex_lock", "pthread_mutex_trylock", "pthread_mutex_unlock", "pthread_once",
            "pthread_key_create", "pthread_key_delete", "pthread_setspecific", "pthread_getspecific", "pthread_create",
            "sched_yield", "nanosleep", "usleep", "sleep", "sched_getcpu", "sysconf", "sched_getaffinity",
            "clock_gettime", "gettimeofday", "getrandom", "getentropy", "syscall"]
RENAMED = {**{name: "cairn_peer_" + name for name in REPLACED},
           "__cxa_guard_acquire": "cairn_peer_cxa_guard_acquire", "__cxa_guard_release": "cairn_peer_cxa_guard_release",
           "__cxa_thread_atexit": "cairn_peer_cxa_thread_atexit", "__cxa_thread_atexit_impl": "cairn_peer_cxa_thread_atexit_impl",
           "memcpy": "__tsan_memcpy", "memmove": "__tsan_memmove", "memset": "__tsan_memset"}

# What would wait, and nobody would know: an object that needs one of these is refused.
WAITS = re.compile(r"pthread_(cond_.*wait|rwlock_.*lock|spin_lock|barrier_wait|join)|sem_.*wait")


class Failed(Exception):
    """One command did not work; the text is what it said."""


def run(command, **options):
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if ended.returncode != 0:
        raise Failed("%s failed:\n%s" % (command[0], ended.stdout[-3000:]))
    return ended.stdout


def compile_all(files, scratch, flags):
    """Objects of the files, two at a time."""
    objects = []
    rules = []
    for number, name in enumerate(files):
        objects.append("%d.o" % number)
        rules.append("%d.o:\n\t%s %s -c %s -o $@" % (number, CLANG, " ".join("'%s'" % flag for flag in FLAGS + flags), name))
    with open(os.path.join(scratch, "Makefile"), "w") as file:
        file.write("all: %s\n%s\n" % (" ".join(objects), "\n".join(rules)))
    run(["make", "-j%d" % os.cpu_count(), "all"], cwd=scratch)
    return [os.path.join(scratch, name) for name in objects]


def link(objects, malloc, free, out, scratch, idle_waits=()):
    """One object that gives away its malloc and its free, and nothing else. idle_waits: functions that would wait, but are only called by
    threads of the peer's own, which are never started."""
    whole = os.path.join(scratch, "whole.o")
    run(["ld", "-r", "--force-group-allocation", "-o", whole, *objects])
    names = os.path.join(scratch, "names")
    with open(names, "w") as file:
        file.writelines("%s %s\n" % pair for pair in {**RENAMED, malloc: "cairn_peer_malloc", free: "cairn_peer_free"}.items())
    run(["objcopy", "--redefine-syms=" + names, whole])
    wanted = {line.split()[-1].split("@")[0] for line in run(["nm", "-u", whole]).splitlines()}
    waits = {name for name in wanted if WAITS.fullmatch(name)} - set(idle_waits)
    if waits:
        raise Failed("%s would wait without the baton: %s" % (os.path.basename(out), ", ".join(sorted(waits))))
    exports = os.path.join(scratch, "exports")
    with open(exports, "w") as file:
        file.write("{ global: cairn_peer_malloc; cairn_peer_free; local: *; };\n")
    run(["c++", "-shared", whole, "-pthread", "-Wl,-z,nodelete", "-Wl,--version-script=" + exports, "-o", out])


def mimalloc(root, out, scratch):
    link(compile_all([os.path.join(root, "src", "static.c")], scratch, ["-x", "c++", "-std=c++17", "-I" + os.path.join(root, "include")]),
         "mi_malloc", "mi_free", out, scratch)


def snmalloc(root, out, scratch):
    flags = ["-std=c++20", "-mcx16", "-fno-exceptions", "-fno-rtti", "-ffunction-sections", "-I" + os.path.join(root, "src"),
             "-DSNMALLOC_STATIC_LIBRARY_PREFIX=sn_", "-DSNMALLOC_USE_WAIT_ON_ADDRESS=1", "-DSNMALLOC_USE_CXX11_THREAD_ATEXIT_DIRECT",
             "-DSNMALLOC_CHECK_LOADS=false", "-DSNMALLOC_PAGEID=false", "-DSNMALLOC_NO_REALLOCARRAY", "-DSNMALLOC_NO_REALLOCARR"]
    link(compile_all([os.path.join(root, "src", "snmalloc", "override", "malloc.cc")], scratch, flags), "sn_malloc", "sn_free", out, scratch)


def jemalloc(root, out, scratch):
    tree = os.path.join(scratch, "jemalloc")
    shutil.copytree(root, tree)
    configure = os.path.join(os.path.dirname(root), "configure", "configure")  # where the crate has it
    if os.path.exists(configure):
        shutil.copy(configure, os.path.join(tree, "configure"))
    run(["sh", "configure", "CC=" + CLANG, "--disable-cxx", "--disable-doc", "--disable-shared", "--with-jemalloc-prefix=je_",
         "--with-version=5.3.0-0-g0"], cwd=tree)
    run(["make", "-j%d" % os.cpu_count(), "lib/libjemalloc_pic.a",
         "EXTRA_CFLAGS=-O2 -g -fsanitize=thread -w -DNDEBUG -ftls-model=initial-exec"], cwd=tree)
    link(sorted(glob.glob(os.path.join(tree, "src", "*.pic.o"))), "je_malloc", "je_free", out, scratch,
         idle_waits=["pthread_cond_wait", "pthread_cond_timedwait", "pthread_join"])


def gperftools(root, out, scratch):
    """libtcmalloc_minimal. Its atomics for x86 are assembly, which no compiler instruments: its own for any other processor do the same."""
    shadow = os.path.join(scratch, "shadow", "base")
    os.makedirs(shadow)
    with open(os.path.join(shadow, "atomicops-internals-x86.h"), "w") as file:
        file.write('#include "base/atomicops-internals-gcc.h"\n')
    run(["cmake", "-S", root, "-B", os.path.join(scratch, "made"), "-Dgperftools_build_minimal=ON", "-DBUILD_TESTING=OFF"])
    names = ["common", "internal_logging", "system-alloc", "memfs_malloc", "central_freelist", "page_heap", "sampler", "span", "stack_trace_table",
             "static_vars", "symbolize", "thread_cache", "malloc_hook", "malloc_extension", "tcmalloc", "maybe_threads",
             "base/spinlock", "base/spinlock_internal", "base/logging", "base/sysinfo"]
    flags = ["-std=c++17", "-DHAVE_CONFIG_H", "-DNO_TCMALLOC_SAMPLES", "-DNO_HEAP_CHECK", "-I" + os.path.dirname(shadow),
             "-I" + os.path.join(scratch, "made"), "-I" + os.path.join(root, "src")]
    objects = compile_all([os.path.join(root, "src", name + ".cc") for name in names], scratch, flags)
    run([CLANG, *FLAGS, *flags[1:], "-c", os.path.join(root, "src", "base", "dynamic_annotations.c"), "-o", os.path.join(scratch, "annotations.o")])
    link([*objects, os.path.join(scratch, "annotations.o")], "tc_malloc", "tc_free", out, scratch)


def tbb(root, out, scratch):
    folder = os.path.join(root, "src", "tbbmalloc")
    files = [os.path.join(folder, name + ".cpp") for name in ("backend", "backref", "frontend", "large_objects", "tbbmalloc")]
    flags = ["-std=c++17", "-D__TBBMALLOC_BUILD", "-D__TBB_DYNAMIC_LOAD_ENABLED=0", "-D__TBB_SOURCE_DIRECTLY_INCLUDED=1",
             "-I" + os.path.join(root, "include"), "-I" + folder, "-I" + os.path.join(root, "src")]
    link(compile_all(files, scratch, flags), "scalable_malloc", "scalable_free", out, scratch)
