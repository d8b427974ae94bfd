#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs compiled for Windows on AArch64, by clang for both kinds of its compilers, run here: a C++ program, and zstd,
# each source an object. The calling convention is Linux's, but for variable arguments. The ordinary program is the same
# for Linux.
#
# time limit: 1200

. "$(dirname "$0")/qemu.bash"
data=tests/link/data/windows
mkdir -p "$out/include"
for header in stdio stdlib string errno assert; do
    cp tests/programs/windows/libc.h "$out/include/$header.h"
done

# $1 name, $2 record of the ordinary program, $3 target, $4 flags, $5 sources.
check() {
    local name="$1, aarch64, $3" ordinary=$2 stem=$out/$1.$3 command
    command="$LLVM_BIN/clang --target=$3 -ffreestanding -fno-stack-check"
    command="$command -fno-exceptions -mno-stack-arg-probe -DFOR_WINDOWS"
    command="$command -U_WIN32 -U_MSC_VER -U__MINGW32__ -U__MINGW64__ -w -isystem $out/include $4"
    # shellcheck disable=SC2086
    if ! compile_with "$stem" "$command" $5 tests/programs/variadic.c 2>"$stem.log"; then
        echo "not ok $name: it cannot be built: $(head -1 "$stem.log")"
        return
    fi
    record "$stem.linked" emulate aarch64 "$BUILD/aarch64-linux-gnu/tests/link/qemu/run" "$stem"/*.o -- "$stem"
    same "$name" "$ordinary" "$stem.linked"
}

# $1 name, $2 compiler, $3 flags, $4 sources, $5 those for Windows besides.
check_targets() {
    local name=$1 target
    # shellcheck disable=SC2086
    if ! compile "$out/$name.linux" aarch64 "$2" "$3" $4 2>"$out/$name.log" ||
        ! aarch64-linux-gnu-g++ -static "$out/$name.linux"/*.o -o "$out/$name.program" 2>"$out/$name.log"; then
        echo "not ok $name: the ordinary program cannot be built: $(head -1 "$out/$name.log")"
        return
    fi
    record "$out/$name.ordinary" emulate aarch64 "$out/$name.program"
    for target in aarch64-pc-windows-msvc aarch64-w64-windows-gnu; do
        check "$name" "$out/$name.ordinary" "$target" "$3" "$4 $5"
    done
}

for level in -O0 -O2; do
    check_targets "runs$level" g++ "$level -fno-rtti" $data/runs.cpp $data/seh.s
done
zstd=build/deps/libzstd/lib
check_targets zstd gcc "-O1 -I$zstd -DZSTD_DISABLE_ASM" \
    "tests/link/qemu/zstd.c $(ls $zstd/common/*.c $zstd/compress/*.c $zstd/decompress/*.c)"
