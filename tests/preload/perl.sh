#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# perl: hashes, regular expressions, threads and fork. The hash seed is fixed, nothing else is.
. "$(dirname "$0")/lib/common.sh"
need perl perl

work() {
    PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0 perl "$inputs/work.pl"
}

compare work
loaded perl
