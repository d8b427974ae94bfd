#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Lua, SQLite and zstd by a compile server: the same objects as by LLVM in the command, in one piece, and function by
# function for a JIT, whose caches have to be the same.
#
# time limit: 1800

. "$(dirname "${BASH_SOURCE[0]}")/programs.bash"
names=(lua compress sqlite)
echo 1..$((3 * ${#names[@]}))

# compiled NAME LEVEL
compiled() {
    local name=$1 level=$2
    "$BUILD/tenon" compile -O"$level" "$bitcode/$name.bc" -o "$out/$name.here.o" &&
        "$BUILD/tenon" compile -O"$level" --isolate "$bitcode/$name.bc" -o "$out/$name.there.o" &&
        cmp "$out/$name.here.o" "$out/$name.there.o"
}

# kept NAME ARGUMENT...: standard input is the file $input
kept() {
    local name=$1
    shift
    rm -rf "$out/$name.here" "$out/$name.there"
    "$BUILD/tenon" run --lazy --cache="$out/$name.here" "$bitcode/$name.bc" -- "$@" <"$input" >"$out/$name.out" &&
        "$BUILD/tenon" run --lazy --cache="$out/$name.there" --isolate "$bitcode/$name.bc" -- "$@" <"$input" |
        cmp - "$out/$name.out" && diff -r "$out/$name.here" "$out/$name.there"
}

# check WHAT COMMAND...
check() {
    local what=$1
    shift
    "$@" >"$out/said" 2>&1 && echo "ok programs/isolated/$what" ||
        echo "not ok programs/isolated/$what: $(head -5 "$out/said" | tr '\n' ' ')"
}

for name in "${names[@]}"; do
    for level in 0 2; do check "$name -O$level" compiled "$name" $level; done
done
input=/dev/null
check "lua, lazily" kept lua $here/strings.lua
check "compress, lazily" kept compress 1
input=$out/orders.sql
awk -v purchases=500 -f $here/orders.awk >"$input"
check "sqlite, lazily" kept sqlite
