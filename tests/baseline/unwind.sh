#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Unwinding passes functions of both compilers in one object, each of which has frame descriptions of its own.

. tests/build/check

: "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
here=tests/baseline
out=$BUILD/tests/baseline/unwind
mkdir -p "$out" || exit 1
flags=(-O1 -Xclang -disable-llvm-passes -funwind-tables -emit-llvm)
"$LLVM_BIN/clang" "${flags[@]}" -c $here/source/unwind.c -o "$out/unwind.bc" || exit 1
said=$("$BUILD/tenon" compile -O0 --baseline --stats "$out/unwind.bc" -o "$out/unwind.o" 2>&1)
some "functions of both compilers" "$(grep ' 4 functions; 1 left to LLVM' <<<"$said")"
answers "linked by the system's linker" 10 sh -c "${CC:-gcc} '$out/unwind.o' -o '$out/unwind' && '$out/unwind'"
answers "linked by Tenon" 10 "$BUILD/tenon" run "$out/unwind.o"
answers "lazily" 10 "$BUILD/tenon" run -O0 --lazy "$out/unwind.bc"

# The registers of the function that catches an exception, which another compiler has optimised.
"$LLVM_BIN/clang++" -O0 -emit-llvm -c $here/source/registers.cpp -o "$out/registers.bc" &&
    g++ -O2 -DGUARD -c $here/source/registers.cpp -o "$out/guard.o" &&
    "$BUILD/tenon" compile -O0 --baseline "$out/registers.bc" -o "$out/registers.o" || exit 1
answers "registers, linked by the system's linker" 0 \
    sh -c "g++ '$out/guard.o' '$out/registers.o' -o '$out/registers' && '$out/registers'"
answers "registers, linked by Tenon" 0 \
    "$BUILD/tenon" run "$out/guard.o" "$out/registers.o" "$(g++ -print-file-name=libstdc++.a)"
