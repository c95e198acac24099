# SPDX-License-Identifier: MIT
"""Factors a number by continued fractions, as cfrac did: Morrison and Brillhart's method. The interpreter's integers
are as long as they need to be, and each is an object on the heap.

    cfrac.py NUMBER PRIMES
"""
import math
import sys


def primes(n, count):
    """2, and those modulo which n is a square: the others divide no Q."""
    found, candidate = [2], 3
    while len(found) < count:
        if all(candidate % p for p in range(3, math.isqrt(candidate) + 1, 2)) and pow(n, candidate // 2, candidate) <= 1:
            found.append(candidate)
        candidate += 2
    return found


def relations(n, base):
    """(A, bits of odd exponents, Q) with A^2 = +-Q modulo n, and Q a product of primes of the base."""
    root = math.isqrt(n)
    p, q, a, before, now, sign = 0, 1, root, 1, root, -1
    while True:
        p = a * q - p
        q = (n - p * p) // q
        rest, odd = q, 1 if sign < 0 else 0
        for i, prime in enumerate(base):
            while rest % prime == 0:
                rest //= prime
                odd ^= 2 << i
        if rest == 1:
            yield now, odd, sign * q
        a = (root + p) // q
        before, now, sign = now, (a * now + before) % n, -sign


def factor(n, base):
    rows = []
    for a, odd, q in relations(n, base):
        used = 1 << len(rows)
        rows.append((a, q))
        basis = factor.basis
        while odd and odd.bit_length() in basis:
            other, others = basis[odd.bit_length()]
            odd, used = odd ^ other, used ^ others
        if odd:
            basis[odd.bit_length()] = odd, used
            continue
        x = square = 1
        for i, (a_i, q_i) in enumerate(rows):
            if used >> i & 1:
                x, square = x * a_i % n, square * q_i
        found = math.gcd(x - math.isqrt(square), n)
        if 1 < found < n:
            return found


factor.basis = {}
number = int(sys.argv[1])
divisor = factor(number, primes(number, int(sys.argv[2])))
print(min(divisor, number // divisor), "*", max(divisor, number // divisor))
