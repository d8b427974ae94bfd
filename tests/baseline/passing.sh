#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# long double, __int128 and structures of these as arguments and results, between code of the baseline compiler and of
# clang, against a program of clang alone.

. tests/build/check

: "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
out=$BUILD/tests/baseline/passing
mkdir -p "$out" || exit 1
for level in 0 2; do
    for half in "a b -DMAIN" "b a"; do
        read -r here there more <<<"$half"
        flags=(-O$level -DHERE="${here}_" -DTHERE="${there}_" ${more:+"$more"} -c tests/baseline/source/passing.c)
        "$LLVM_BIN/clang" "${flags[@]}" -o "$out/$here.o" || exit 1
        "$LLVM_BIN/clang" -emit-llvm "${flags[@]}" -o "$out/$here.bc" || exit 1
        said=$("$BUILD/tenon" compile -O0 --baseline --stats "$out/$here.bc" -o "$out/$here.baseline.o" 2>&1)
        some "all of $here, -O$level, is covered" "$(grep ' functions; 0 left to LLVM' <<<"$said")"
    done
    "$LLVM_BIN/clang" "$out/a.o" "$out/b.o" -o "$out/plain" || exit 1
    plain=$("$out/plain")
    answers "called by clang's, -O$level" "$plain" "$BUILD/tenon" run "$out/a.o" "$out/b.baseline.o"
    answers "calling clang's, -O$level" "$plain" "$BUILD/tenon" run "$out/a.baseline.o" "$out/b.o"
    answers "by flat files, -O$level" "$plain" sh -c '"$0" compile --emit=flat "$1/a.bc" -o "$1/a.tnf" &&
        "$0" run "$1/a.tnf" "$1/b.o"' "$BUILD/tenon" "$out"
done
