# SPDX-License-Identifier: MIT
"""The input of the workload `z3`: as many queens as fit on boards of several sizes, in linear arithmetic, and equations
of small words of bits. Only answers are asked for: which model is found may depend on addresses, with any malloc."""

PUZZLES = 40


def queens(size, first):
    rows = ["(declare-const q%d Int)(assert (and (<= 0 q%d) (< q%d %d)))" % (i, i, i, size) for i in range(size)]
    for i in range(size):
        rows += ["(assert (distinct q%d q%d))(assert (distinct (- q%d q%d) %d))(assert (distinct (- q%d q%d) %d))"
                 % (i, j, i, j, j - i, j, i, j - i) for j in range(i + 1, size)]
    return rows + ["(assert (= q0 %d))" % first]


def mixing(width, steps):
    """A word that a chain of multiplications, shifts and sums takes to a given value."""
    rows = ["(declare-const v%d (_ BitVec %d))" % (i, width) for i in range(steps + 1)]
    rows += ["(assert (= v%d (bvxor (bvmul v%d (_ bv%d %d)) (bvlshr v%d (_ bv3 %d)))))"
             % (i + 1, i, 2 * i + 5, width, i, width) for i in range(steps)]
    return rows + ["(assert (= ((_ extract %d 0) v%d) (_ bv%d %d)))(assert (bvugt v0 (_ bv99 %d)))"
                   % (width - 3, steps, 1234 % 2 ** (width - 2), width - 2, width)]


def text(scale):
    lines = ["(set-option :print-success false)"]
    for number in range(max(1, PUZZLES * scale // 100)):
        rows = mixing(16 + number % 3, 4 + number % 3) if number % 4 == 3 else queens(12 + number * 5 % 11, number % 7)
        lines += ["(push)", *rows, "(check-sat)", "(pop)"]
    return "\n".join(lines) + "\n"
