#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the shape of the built malloc: check_library.py libcairn.so libcairn.a, or check_library.py libcairn-NAME.so

 - libcairn.so needs the C library and nothing else, by name and by symbol;
 - its static TLS is at most 8 bytes, so that dlopen finds room for it;
 - nothing runs at start-up to build an object, nothing is registered to run at exit;
 - its relocations are finished at load, its text has none, its stack is not executable, it is never unloaded;
 - it exports the malloc family, the forms of new and delete, and cairn_*, all of them, what it has to know of (fork, dlopen, unshare, setns), and nothing else;
 - libcairn.a has no dlopen: in a program that is linked statically there is no other one for it to go on in.

A library of the family may have more thread-local data, g++ registers its allocator's destructor, which is empty, and of
cairn_* it has the version only.
"""
import re
import subprocess
import sys

allowed_exports = re.compile(
    r"^(malloc|calloc|realloc|free|cfree|reallocarray|aligned_alloc|memalign|posix_memalign|valloc|pvalloc"
    r"|free_sized|free_aligned_sized|malloc_usable_size|malloc_trim|malloc_info|malloc_stats|mallinfo2?|mallopt"
    r"|malloc_get_state|malloc_set_state|[mrx]allocx|s?dallocx|[sn]allocx|__libc_(malloc|calloc|realloc|free|memalign|valloc|pvalloc)"
    r"|__posix_memalign|fork|vfork|dlopen|unshare|setns|_?_?pthread_atfork|_Zn[wa].*|_Zd[la].*|cairn_[a-z_]+)$")
# With a part of a family missing, the C library's own would be asked about, or be given, blocks of this heap.
required_exports = """malloc calloc realloc free reallocarray aligned_alloc memalign posix_memalign valloc pvalloc
    free_sized free_aligned_sized malloc_usable_size malloc_trim malloc_info malloc_stats mallinfo mallinfo2 mallopt
    __libc_malloc __libc_calloc __libc_realloc __libc_free __libc_memalign __libc_valloc __libc_pvalloc
    __posix_memalign cfree
    _Znwm _Znam _ZnwmSt11align_val_t _ZnamSt11align_val_t _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t
    _ZnwmSt11align_val_tRKSt9nothrow_t _ZnamSt11align_val_tRKSt9nothrow_t _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm
    _ZdlPvSt11align_val_t _ZdaPvSt11align_val_t _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t
    _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t _ZdlPvSt11align_val_tRKSt9nothrow_t
    _ZdaPvSt11align_val_tRKSt9nothrow_t cairn_version cairn_get_statistics cairn_statistics_json cairn_purge
    cairn_heap_create cairn_heap_alloc cairn_heap_aligned_alloc cairn_heap_free cairn_heap_destroy""".split()
allowed_needed = re.compile(r"^(libc\.so\.6|libc\.so|libc\.musl-.*\.so\.1)$")
failures = []


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def expect(condition, message):
    if not condition:
        failures.append(message)


shared, *static = sys.argv[1:]
flagship = bool(static)

dynamic = output("readelf", "--wide", "--dynamic", shared)
for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
    expect(allowed_needed.match(needed), f"needs {needed}")
expect("TEXTREL" not in dynamic, "has relocations in its text")
expect(re.search(r"FLAGS.*\bNOW\b", dynamic), "is not linked with -z now")
expect("NODELETE" in dynamic, "is not linked with -z nodelete")
expect("STATIC_TLS" in dynamic or "TLS" not in output("readelf", "--wide", "--segments", shared),
       "uses dynamic TLS: a thread's first malloc would call malloc")

segments = output("readelf", "--wide", "--segments", shared)
for size in re.findall(r"^\s*TLS\s+(?:0x\w+\s+){4}(0x\w+)", segments, re.MULTILINE):
    expect(int(size, 16) <= (8 if flagship else 128), f"has {int(size, 16)} bytes of static TLS")
expect(not re.search(r"GNU_STACK.*\bRWE\b", segments), "has an executable stack")
expect("GNU_RELRO" in segments, "is not linked with -z relro")

for path in (shared, *static):
    names = output("nm", path)
    for name in re.findall(r"\b(_GLOBAL__sub_I\w+|__cxx_global_var_init\w*)", names):
        expect(not flagship, f"{path}: builds an object at start-up ({name})")
    for name in re.findall(r"\bU (__cxa_atexit|__cxa_guard\w*|__cxa_throw|__gxx_personality_v0|_ZSt\w+)", names):
        expect(not flagship and name == "__cxa_atexit", f"{path}: uses {name}")

for path in static:
    expect(not re.search(r" T dlopen$", output("nm", path), re.MULTILINE), f"{path}: has a dlopen")

exports = {name.split("@")[0] for name in re.findall(
    r"\S+ [A-Za-z] (\S+)$", output("nm", "--dynamic", "--defined-only", shared), re.MULTILINE)}
for name in required_exports:
    if not flagship and name.startswith("cairn_") and name != "cairn_version":
        continue
    expect(name in exports, f"does not export {name}")
for name in sorted(exports):
    expect(allowed_exports.match(name), f"exports {name}")

for failure in failures:
    print(f"{shared}: {failure}", file=sys.stderr)
sys.exit(bool(failures))
