#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs compiled for Windows on AArch64, by clang for both kinds of its compilers, run here: a C++ program, zstd and
# Lua, each source an object, and SQLite, in one. The calling convention is Linux's, but for variable arguments. The
# ordinary program is the same for Linux.
#
# time limit: 1200

. "$(dirname "$0")/qemu.bash"
data=tests/link/data/windows
mkdir -p "$out/include/sys"
for header in assert ctype errno locale math setjmp signal stdio stdlib string sys/types time; do
    cp tests/programs/windows/libc.h "$out/include/$header.h"
done

# $1 name, $2 record of the ordinary program, $3 target, $4 flags, $5 sources, the rest: arguments of the program.
check() {
    local name="$1, aarch64, $3" ordinary=$2 stem=$out/$1.$3 sources=$5 command
    command="$LLVM_BIN/clang --target=$3 -ffreestanding -fno-stack-check"
    command="$command -fno-exceptions -mno-stack-arg-probe -DFOR_WINDOWS"
    command="$command -U_WIN32 -U_MSC_VER -U__MINGW32__ -U__MINGW64__ -w -isystem $out/include $4"
    shift 5
    # shellcheck disable=SC2086
    if ! compile_with "$stem" "$command" $sources tests/programs/variadic.c 2>"$stem.log"; then
        echo "not ok $name: it cannot be built: $(head -1 "$stem.log")"
        return
    fi
    record "$stem.linked" emulate aarch64 "$BUILD/aarch64-linux-gnu/tests/link/qemu/run" "$stem"/*.o -- program \
        "$@" <"${input:-/dev/null}"
    same "$name" "$ordinary" "$stem.linked"
}

# $1 name, $2 compiler, $3 flags, $4 sources, the rest: arguments of the program. Sources for Windows besides are in
# $also, and standard input is the file $input, where these are set.
check_targets() {
    local name=$1 compiler=$2 flags=$3 sources=$4 target
    shift 4
    # shellcheck disable=SC2086
    if ! compile "$out/$name.linux" aarch64 "$compiler" "$flags" $sources 2>"$out/$name.log" ||
        ! aarch64-linux-gnu-g++ -static "$out/$name.linux"/*.o -o "$out/$name.program" -lm 2>"$out/$name.log"; then
        echo "not ok $name: the ordinary program cannot be built: $(head -1 "$out/$name.log")"
        return
    fi
    record "$out/$name.ordinary" emulate aarch64 "$out/$name.program" "$@" <"${input:-/dev/null}"
    for target in aarch64-pc-windows-msvc aarch64-w64-windows-gnu; do
        check "$name" "$out/$name.ordinary" "$target" "$flags" "$sources $also" "$@"
    done
}

also=$data/seh.s
for level in -O0 -O2; do
    check_targets "runs$level" g++ "$level -fno-rtti" $data/runs.cpp
done
also=
zstd=build/deps/libzstd/lib
check_targets zstd gcc "-O1 -I$zstd -DZSTD_DISABLE_ASM" \
    "tests/link/qemu/zstd.c $(ls $zstd/common/*.c $zstd/compress/*.c $zstd/decompress/*.c)"
lua=build/deps/lua5.4/src
for script in nbody strings; do
    check_targets $script gcc "-O2 -I$lua" "tests/programs/lua.c $(ls $lua/*.c | grep -v '/luac\?\.c$')" \
        tests/programs/$script.lua
done
sqlite=build/deps/sqlite3
input=$out/orders.sql
awk -f tests/programs/orders.awk >"$input"
options="-DSQLITE_OS_OTHER=1 -DSQLITE_THREADSAFE=0 -DSQLITE_TEMP_STORE=3 -DSQLITE_OMIT_LOAD_EXTENSION"
check_targets sqlite gcc "-O1 -I$sqlite -DSQLITE_ENABLE_FTS5 $options" \
    "tests/programs/sqlite.c tests/programs/sqlite_vfs.c $sqlite/sqlite3.c"
