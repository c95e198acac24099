#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the newest peers from the sources that their Rust crates carry, into a cache folder: peers.py [--coherence] [NAME...]

bench/run.py then takes them by name. With --coherence: for bench/coherence.py, instrumented by clang-19, and with them the
versions of this Debian, from its source packages. What is there already is not built again. Needs cargo, a C++ compiler, cmake and make.
The folder is $CAIRN_PEERS, else cairn/peers in the user's cache.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

from lib import allocators, debian, instrumented, results  # noqa: E402
from lib.entry import complain, enter  # noqa: E402

# Pinned, so that figures can be compared: a crate and its version.
CRATES = {"libmimalloc-sys": "0.1.49", "snmalloc-sys": "0.7.6", "tikv-jemalloc-sys": "0.7.1", "libtcmalloc-sys": "0.1.14"}
OPTIMIZED = ["-O3", "-DNDEBUG", "-fPIC", "-fvisibility=hidden"]
SHARED = ["-shared", "-pthread", "-Wl,-z,nodelete"]


def run(command, **options):
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if ended.returncode != 0:
        complain("%s failed:\n%s" % (command[0], ended.stdout[-3000:]))
        raise SystemExit(1)
    return ended.stdout


def sources(folder):
    """The crates' sources, fetched once, each checked by cargo against the registry's hash."""
    vendor = os.path.join(folder, "sources")
    if os.path.isdir(vendor):
        return vendor
    if shutil.which("cargo") is None:
        complain("cargo is not installed")
        raise SystemExit(2)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        os.mkdir(os.path.join(scratch, "src"))
        open(os.path.join(scratch, "src", "lib.rs"), "w").close()
        with open(os.path.join(scratch, "Cargo.toml"), "w") as file:
            file.write('[package]\nname = "peers"\nversion = "0.0.0"\nedition = "2021"\n\n[dependencies]\n')
            file.writelines('%s = "=%s"\n' % crate for crate in CRATES.items())
        run(["cargo", "vendor", "--quiet", "vendored"], cwd=scratch)
        os.rename(os.path.join(scratch, "vendored"), vendor)
    return vendor


def mimalloc(version):
    def build(vendor, out, _scratch):
        root = os.path.join(vendor, "libmimalloc-sys", "c_src", "mimalloc", version)
        run(["c++", "-std=c++17", *OPTIMIZED, "-DMI_MALLOC_OVERRIDE", "-DMI_SHARED_LIB", "-DMI_SHARED_LIB_EXPORT",
             "-ftls-model=initial-exec", "-fno-builtin-malloc", "-x", "c++", "-w", "-I" + os.path.join(root, "include"),
             os.path.join(root, "src", "static.c"), *SHARED, "-o", out])
    return build


def snmalloc(vendor, out, scratch):
    run(["cmake", "-S", os.path.join(vendor, "snmalloc-sys", "upstream"), "-B", scratch, "-DCMAKE_BUILD_TYPE=Release",
         "-DSNMALLOC_BUILD_TESTING=OFF"])
    run(["cmake", "--build", scratch, "--target", "snmallocshim"])
    shutil.copy(os.path.join(scratch, "libsnmallocshim.so"), out)


def jemalloc(vendor, out, scratch):
    tree = os.path.join(scratch, "jemalloc")
    shutil.copytree(os.path.join(vendor, "tikv-jemalloc-sys", "jemalloc"), tree)
    configure = os.path.join(vendor, "tikv-jemalloc-sys", "configure", "configure")
    if os.path.exists(configure):
        shutil.copy(configure, os.path.join(tree, "configure"))
    run(["sh", "configure", "--disable-static", "--disable-doc", "--with-version=5.3.1-0-g0"], cwd=tree)
    run(["make", "-j%d" % os.cpu_count(), "build_lib_shared"], cwd=tree)
    shutil.copy(os.path.join(tree, "lib", "libjemalloc.so.2"), out)


def tcmalloc(vendor, out, scratch):
    root = os.path.join(vendor, "libtcmalloc-sys")
    with open(os.path.join(root, "build.rs")) as file:
        files = [name for name in re.findall(r'"(c_src/[^"]+\.(?:cc|S))"', file.read()) if "bridge" not in name]
    files += ["c_src/tcmalloc/tcmalloc/tcmalloc.cc", "c_src/tcmalloc/tcmalloc/want_hpaa.cc"]
    files = [name for name in dict.fromkeys(files) if os.path.exists(os.path.join(root, name))]
    rules = ["CXXFLAGS = -std=c++17 -O3 -DNDEBUG -fPIC -w -DTCMALLOC_INTERNAL_8K_PAGES -ftls-model=initial-exec "
             "-fno-builtin-malloc -I%s/c_src/abseil-cpp -I%s/c_src/tcmalloc" % (root, root)]
    objects = []
    for number, name in enumerate(files):
        objects.append("%d.o" % number)
        rules.append("%d.o: %s\n\t$(CXX) $(CXXFLAGS) -c $< -o $@" % (number, os.path.join(root, name)))
    rules.append("all: %s\n\t$(CXX) $^ %s -o %s" % (" ".join(objects), " ".join(SHARED), out))
    with open(os.path.join(scratch, "Makefile"), "w") as file:
        file.write("\n".join(rules) + "\n")
    run(["make", "-j%d" % os.cpu_count(), "all"], cwd=scratch)


PEERS = {"mimalloc2": mimalloc("v2"), "mimalloc3": mimalloc("v3"), "snmalloc": snmalloc, "jemalloc5": jemalloc,
         "tcmalloc-new": tcmalloc}


# For results: the crate that each is from.
CRATE_OF = {"mimalloc2": "libmimalloc-sys", "mimalloc3": "libmimalloc-sys", "snmalloc": "snmalloc-sys",
            "jemalloc5": "tikv-jemalloc-sys", "tcmalloc-new": "libtcmalloc-sys"}


def note_versions(folder):
    """Of the sources that are there, not of those that would be fetched today."""
    versions = {}
    for name, origin in CRATE_OF.items():
        manifest = os.path.join(folder, "sources", origin, "Cargo.toml")
        if os.path.exists(os.path.join(folder, "lib%s.so" % name)) and os.path.exists(manifest):
            with open(manifest) as file:
                found = re.search(r'^version = "(.*)"$', file.read(), re.MULTILINE)
            versions["lib%s.so" % name] = "%s %s" % (origin, found.group(1) if found else "")
    results.write(os.path.join(folder, "versions.json"), versions)


def crate(*path):
    return lambda folder: os.path.join(sources(folder), *path)


def debian_source(package):
    return lambda folder: debian.source(os.path.join(folder, "debian"), package)


# Where the source is, and what makes an instrumented object of it.
COHERENCE = {
    "mimalloc2": (crate("libmimalloc-sys", "c_src", "mimalloc", "v2"), instrumented.mimalloc),
    "mimalloc3": (crate("libmimalloc-sys", "c_src", "mimalloc", "v3"), instrumented.mimalloc),
    "snmalloc": (crate("snmalloc-sys", "upstream"), instrumented.snmalloc),
    "jemalloc5": (crate("tikv-jemalloc-sys", "jemalloc"), instrumented.jemalloc),
    "jemalloc": (debian_source("jemalloc"), instrumented.jemalloc),
    "mimalloc": (debian_source("mimalloc"), instrumented.mimalloc),
    "tcmalloc": (debian_source("google-perftools"), instrumented.gperftools),
    "tbb": (debian_source("onetbb"), instrumented.tbb),
}


def main(words):
    if set(words) & {"-h", "--help"}:
        print(__doc__.strip())
        return 0
    coherence = words[:1] == ["--coherence"]
    names = words[1:] if coherence else words
    known = COHERENCE if coherence else PEERS
    for name in names:
        if name not in known:
            complain("no peer is called '%s'; there are %s" % (name, ", ".join(known)))
            return 2
    folder = allocators.peers_folder()
    target = os.path.join(folder, "coherence", "%s.so") if coherence else os.path.join(folder, "lib%s.so")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    for name in names or known:
        out = target % name
        if os.path.exists(out):
            continue
        complain("building %s" % name)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            aside = os.path.join(scratch, os.path.basename(out))
            try:
                if coherence:
                    source, make = COHERENCE[name]
                    make(source(folder), aside, scratch)
                else:
                    PEERS[name](sources(folder), aside, scratch)
            except (debian.Unavailable, instrumented.Failed) as trouble:
                complain("%s: %s" % (name, trouble))
                return 1
            os.rename(aside, out)
    if not coherence:
        note_versions(folder)
    return 0


if __name__ == "__main__":
    enter(main, "peers")
