#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# z3: problems of many theories, alone and with two threads, and a larger puzzle. Answers are compared, but no models: which
# model is found may depend on addresses, with any malloc.
. "$(dirname "$0")/lib/common.sh"
need z3 z3

work() {
    z3 -smt2 "$inputs/problems.smt2"
    # As many queens as fit, the first ones in place; the count of conflicts is not asked for.
    awk -v size=18 'BEGIN {
        print "(set-logic QF_LIA)"
        for (i = 0; i < size; i++) printf "(declare-const q%d Int)(assert (and (<= 0 q%d) (< q%d %d)))\n", i, i, i, size
        for (i = 0; i < size; i++) for (j = i + 1; j < size; j++)
            printf "(assert (and (distinct q%d q%d) (distinct (- q%d q%d) %d) (distinct (- q%d q%d) %d)))\n", i, j, i, j, j - i, j, i, j - i
        print "(check-sat)"
    }' >queens.smt2
    z3 queens.smt2
    # Arithmetic of bits, divided between threads.
    awk 'BEGIN {
        print "(set-logic QF_BV)"
        for (i = 0; i < 10; i++) printf "(declare-const v%d (_ BitVec 16))\n", i
        for (i = 0; i < 9; i++) printf "(assert (= v%d (bvadd (bvmul v%d #x%04x) (bvlshr v%d #x0003))))\n", i + 1, i, i * 2 + 5, i
        print "(assert (= ((_ extract 7 0) v9) #x5a))(assert (bvugt v0 #x1000))(check-sat)"
    }' >bits.smt2
    z3 parallel.enable=true parallel.threads.max=2 bits.smt2
}

compare work
loaded z3
