#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Lua from its source, a module for each file of it: a program of numbers, and one of strings and patterns.

. "$(dirname "$0")/lazy.bash"
echo 1..10
source=build/deps/lua5.4/src
bitcode lua -I$source || exit 1
ls $source/*.c | grep -v -e '/lua\.c$' -e '/luac\.c$' |
    xargs -P "$(nproc)" -I{} sh -c '"$0" -O1 -Xclang -disable-llvm-passes \
    -DLUA_USE_POSIX -emit-llvm -c "$1" -o "$2/$(basename "$1" .c).bc"' "$LLVM_BIN/clang" {} "$out" || exit 1
for script in nbody strings; do
    record "$out/$script.ordinary" lua5.4 $here/$script.lua
    for threads in 0 2; do
        check_lazy $script "$out/$script.ordinary" $threads 75 "$out"/*.bc -- $here/$script.lua
    done
    check_tiers $script "$out/$script.ordinary" 0 "$out"/*.bc -- $here/$script.lua
done
