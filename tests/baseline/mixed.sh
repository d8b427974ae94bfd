#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# One module with functions of the baseline compiler and of LLVM that call each other, against LLVM alone.

. tests/build/check

file=tests/baseline/source/mixed.ll
out=$BUILD/tests/baseline/mixed
mkdir -p "$out" || exit 1
"$BUILD/tenon" run -O0 --no-baseline $file >"$out/expected" 2>&1
some "it says something" "$(cat "$out/expected")"
"$BUILD/tenon" run -O0 --stats $file >"$out/said" 2>"$out/stats"
some "some are covered" "$(grep 'baseline.* [1-9][0-9]* functions; [1-9][0-9]* left to LLVM' "$out/stats")"
none "the same" "$(diff "$out/expected" "$out/said")"

# Vectors of which no function is left.
file=tests/baseline/source/lanes.ll
"$BUILD/tenon" run -O0 --no-baseline $file >"$out/expected" 2>&1
some "vectors say something" "$(grep '^224 160$' "$out/expected")"
"$BUILD/tenon" run -O0 --stats $file >"$out/said" 2>"$out/stats"
some "all are covered" "$(grep 'baseline.* 3 functions; 0 left to LLVM' "$out/stats")"
none "the same vectors" "$(diff "$out/expected" "$out/said")"
