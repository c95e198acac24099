#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ruby: strings, hashes, threads, fibers, marshalling, compacting collections, fork.
. "$(dirname "$0")/lib/common.sh"
need ruby ruby

work() {
    ruby "$inputs/work.rb"
}

compare work
loaded ruby
