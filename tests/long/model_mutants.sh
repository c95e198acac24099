#!/bin/sh
# SPDX-License-Identifier: MIT
#
# model_mutants.sh BUILD: each memory order made one step weaker; the model checker's kernels must notice.
set -eu
cd -- "$(dirname -- "$0")/../.."
exec python3 tests/model/mutants.py "$1"
