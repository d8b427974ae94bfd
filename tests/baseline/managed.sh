#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Managed code by the baseline compiler, and what is left of it to LLVM in the same modules: generated programs under
# stress, beside a concurrent collector and with polls at each function; IR that was lowered before; which functions are
# covered. tests/gc/programs.sh has programs, with each collector.

. tests/build/check

: "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
out=$BUILD/tests/baseline/managed
mkdir -p "$out" || exit 1
export FOLDER=baseline/managed/generated

bash tests/gc/generate.sh 21 8 baseline
POLLS=entries bash tests/gc/generate.sh 29 4 baseline
STRESS=0 TENON_GC=concurrent bash tests/gc/generate.sh 33 4 baseline

# All functions of these are covered.
for name in bt gcbench lru splay bdd strings arrays; do
    "$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -Iinclude -emit-llvm -c bench/gc/$name.c -o "$out/$name.bc"
    "$BUILD/tenon" compile -O0 --baseline --stats "$out/$name.bc" -o "$out/$name.o" >"$out/stats" 2>&1
    some "$name is covered" "$(grep 'baseline.* [1-9][0-9]* functions; 0 left to LLVM' "$out/stats")"
done

# With relocates, as LLVM takes it, for a program whose lists and trees live across calls.
"$BUILD/tenon" opt --passes=tenon "$out/lru.bc" -o "$out/lowered.ll"
"$BUILD/tenon" compile -O0 --baseline --passes= --stats "$out/lowered.ll" -o "$out/lowered.o" >"$out/stats" 2>&1
some "lowered IR is covered" "$(grep 'baseline.* [1-9][0-9]* functions; 0 left to LLVM' "$out/stats")"
"$BUILD/tenon" run -O0 "$out/lru.bc" -- 20 1000 >"$out/want" 2>"$out/err"
TENON_GC_STRESS=1 TENON_GC_VERIFY=1 "$BUILD/tenon" run "$out/lowered.o" -- 20 1000 >"$out/got" 2>"$out/err"
none "it prints the same" "$(cmp "$out/want" "$out/got" 2>&1)"
