#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# time limit: 600
#
# Lua, from its source, as images; against the lua5.4 command.

. "$(dirname "${BASH_SOURCE[0]}")/images.bash"
lua=build/deps/lua5.4/src
level=-O1
sources=($here/lua.c $(ls $lua/*.c | grep -v -e '/lua\.c$' -e '/luac\.c$'))
flags=(-I$lua -DLUA_USE_POSIX)
compile libc || exit 1
build libc --shard 0 -o "$out/shard" || exit 1
record "$out/ordinary" lua5.4 $here/strings.lua
for way in shared image archive exe; do
    check_image image_lua "$out/ordinary" $way $here/strings.lua
done
on_cpus image_lua "$out/ordinary" $here/strings.lua

# The program's own error.
record "$out/missing" "$out/archive" no/such.lua
if [ "$(cat "$out/missing.status" "$out/missing.err")" = $'1\ncannot open no/such.lua: No such file or directory' \
    ]; then
    echo "ok image_lua: an error"
else
    echo "not ok image_lua: an error: $(cat "$out/missing.status" "$out/missing.err")"
fi
