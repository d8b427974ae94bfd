#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# C++ against its ordinary build. libstdc++.a is loaded with the program, as a linker would take it; the unwinder is the
# host's, because it has to know the host's frames as well.

. "$(dirname "$0")/programs.bash"
echo 1..24
libstdcxx=$(g++ -print-file-name=libstdc++.a)

check_compiler() { # NAME COMPILER FLAG...
    local name=$1 part level
    shift
    for level in -O0 -O2; do
        local stem=$out/$name$level
        for part in main part; do
            "$@" $level -std=c++17 -Wall -Wextra -Werror -c $here/cxx_$part.cpp -o "$stem.$part.o" || exit 1
        done
        "$@" $level "$stem.main.o" "$stem.part.o" -pthread -o "$stem.program" || exit 1
        record "$stem.ordinary" "$stem.program" argument
        record "$stem" "$out/watch_maps" "$stem.maps" "$BUILD/tenon" run "$stem.main.o" "$stem.part.o" "$libstdcxx" \
            -- argument
        same "programs/cxx.$name$level" "$stem.ordinary" "$stem"
        never_wx "programs/cxx.$name$level.maps" "$stem.maps"
    done
}

check_compiler gcc g++ -fPIC
check_compiler gcc-no-pic g++ -fno-pic -no-pie
check_compiler gcc-sections g++ -ffunction-sections -fdata-sections
check_compiler clang "$LLVM_BIN/clang++" -fPIC
check_compiler clang-large "$LLVM_BIN/clang++" -mcmodel=large

# The same from bitcode, through tenon's own pipeline.
for part in main part; do
    "$LLVM_BIN/clang++" -O1 -Xclang -disable-llvm-passes -std=c++17 -c -emit-llvm $here/cxx_$part.cpp \
        -o "$out/$part.bc" ||
        exit 1
done
check_program cxx.bitcode "$out/gcc-O0.ordinary" "$out/main.bc" "$out/part.bc" "$libstdcxx" -- argument
