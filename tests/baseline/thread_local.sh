#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Thread-local variables of every model by the baseline compiler, against their ordinary build: linked by Tenon, at once
# and lazily, and by the system's linker as programs of both kinds.

. tests/build/check

: "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
out=$BUILD/tests/baseline/thread_local
source=tests/baseline/source/thread_local.c
mkdir -p "$out" || exit 1
"$LLVM_BIN/clang" $source -c -o "$out/rest.o" && "$LLVM_BIN/clang" -fPIC -DOTHER -c $source -o "$out/other.o" &&
    "$LLVM_BIN/clang" "$out/rest.o" "$out/other.o" -o "$out/plain" || exit 1
plain=$("$out/plain")
for pie in no-pic PIC; do
    "$LLVM_BIN/clang" -f$pie -emit-llvm -c $source -o "$out/$pie.bc" || exit 1
    said=$("$BUILD/tenon" compile -O0 --baseline --stats "$out/$pie.bc" -o "$out/$pie.o" 2>&1)
    some "all of -$pie is covered" "$(grep ' functions; 0 left to LLVM' <<<"$said")"
    answers "-$pie linked by Tenon" "$plain" "$BUILD/tenon" run "$out/$pie.o" "$out/other.o"
    answers "-$pie compiled lazily" "$plain" "$BUILD/tenon" run -O0 --lazy "$out/$pie.bc" "$out/other.o"
    if [ $pie = PIC ]; then
        "$LLVM_BIN/clang" -pie "$out/$pie.o" "$out/other.o" -o "$out/$pie" &&
            answers "-$pie linked as a program" "$plain" "$out/$pie"
    fi
done
