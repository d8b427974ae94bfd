#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Atomic operations by two threads at once, against the ordinary build.

. tests/build/check

: "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
out=$BUILD/tests/baseline/atomics
source=tests/baseline/source/atomics.c
mkdir -p "$out" || exit 1
"$LLVM_BIN/clang" -O1 $source -o "$out/plain" &&
    "$LLVM_BIN/clang" -O1 -emit-llvm -c $source -o "$out/main.bc" || exit 1
plain=$("$out/plain")
some "as one after the other" "$(grep '^as one' <<<"$plain")"
said=$("$BUILD/tenon" compile -O0 --baseline --stats "$out/main.bc" -o "$out/main.o" 2>&1)
some "all is covered" "$(grep ' functions; 0 left to LLVM' <<<"$said")"
answers "by two threads" "$plain" "$BUILD/tenon" run "$out/main.o"
