#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Functions that take any number of arguments, against their ordinary build.

. tests/build/check

: "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
out=$BUILD/tests/baseline/variadic
mkdir -p "$out" || exit 1
for level in 0 2; do
    "$LLVM_BIN/clang" -O$level tests/baseline/source/variadic.c -o "$out/plain" || exit 1
    "$LLVM_BIN/clang" -O$level -emit-llvm -c tests/baseline/source/variadic.c -o "$out/variadic.bc" || exit 1
    said=$("$BUILD/tenon" compile -O0 --baseline --stats "$out/variadic.bc" -o "$out/variadic.o" 2>&1)
    some "all of -O$level is covered" "$(grep ' functions; 0 left to LLVM' <<<"$said")"
    answers "linked by Tenon" "$("$out/plain")" "$BUILD/tenon" run "$out/variadic.o"
    answers "lazily" "$("$out/plain")" "$BUILD/tenon" run -O0 --lazy "$out/variadic.bc"
done
