#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cargo: builds and tests a crate without dependencies, offline, and runs its program. The program and the library are
# compared byte for byte, times in cargo's own words are left out. A rustc that brings its own malloc (as rustup's does)
# keeps it; Debian's uses the system's and is preferred.
. "$(dirname "$0")/lib/common.sh"
need cargo cargo
if [ -x /usr/bin/cargo ] && [ -x /usr/bin/rustc ]; then
    PATH=/usr/bin:$PATH
else
    work_home=$HOME # where rustup's cargo finds its compiler
fi

work() {
    export CARGO_HOME=$PWD/home CARGO_TERM_COLOR=never CARGO_INCREMENTAL=0
    cp -r "$inputs/cargo" crate
    cd crate
    cargo build --offline --release --jobs 2
    cargo test --offline --quiet --lib -- --test-threads=2 | sed 's/finished in .*//'
    target/release/work
    cp target/release/work target/release/libwork.rlib ../keep
}

compare work
loaded cargo rustc work ld
