#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# C++ exceptions: a program of which all functions are covered says what its ordinary build says, linked by Tenon and by
# the system's linkers. Each entry of its tables of exceptions is one that the ordinary build's tables could have.

. tests/records.bash

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
here=tests/baseline
out=$BUILD/tests/baseline/exceptions
mkdir -p "$out" || exit 1
library=$(g++ -print-file-name=libstdc++.a)

check() { # NAME FLAG...
    local stem=$out/$1 linker how
    shift
    "$LLVM_BIN/clang++" -w "$@" $here/source/exceptions.cpp -pthread -o "$stem.plain" || exit 1
    "$LLVM_BIN/clang++" -w "$@" -emit-llvm -c $here/source/exceptions.cpp -o "$stem.bc" || exit 1
    record "$stem.ordinary" "$stem.plain"
    if "$BUILD/tenon" compile -O0 --baseline --stats "$stem.bc" -o "$stem.o" 2>&1 |
        grep -q ' functions; 0 left to LLVM'; then
        echo "ok $stem: all is covered"
    else
        echo "not ok $stem: not all is covered"
    fi
    record "$stem.eager" "$BUILD/tenon" run -O0 "$stem.bc" "$library"
    same "eager, $*" "$stem.ordinary" "$stem.eager"
    record "$stem.lazy" "$BUILD/tenon" run -O0 --lazy "$stem.bc" "$library"
    same "lazy, $*" "$stem.ordinary" "$stem.lazy"
    "$BUILD/tenon" compile -O0 --emit=flat "$stem.bc" -o "$stem.tnf" || exit 1
    for how in "" "--lazy"; do
        # shellcheck disable=SC2086
        record "$stem.flat" "$BUILD/tenon" run -O0 $how "$stem.tnf" "$library"
        same "from a flat file $how, $*" "$stem.ordinary" "$stem.flat"
    done
    for linker in bfd lld; do
        g++ -B"$LLVM_BIN" -fuse-ld=$linker -no-pie "$stem.o" -pthread -o "$stem.$linker.program" || exit 1
        record "$stem.$linker" "$stem.$linker.program"
        same "linked by $linker, $*" "$stem.ordinary" "$stem.$linker"
    done
}

check plain -O0 -std=c++14
check optimised -O2 -std=c++14
check independent -O1 -fPIC -std=c++20
