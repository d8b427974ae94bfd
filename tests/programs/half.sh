#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Arithmetic on half floats, which the optimiser does in float: the bits are those of gcc's own program.

. "$(dirname "$0")/programs.bash"
echo 1..4
bitcode half -ffp-contract=off && ${CC:-gcc} -O2 -ffp-contract=off $here/half.c -o "$out/half" || exit 1
record "$out/half.ordinary" "$out/half"
check_program half "$out/half.ordinary" "$out/half.bc"
