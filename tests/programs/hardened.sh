#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Lua and SQLite on hardened systems and in servers that fork: under PR_SET_MDWE with 4 GiB of address space, and in
# parent and child of a fork which both go on loading code.

. "$(dirname "$0")/programs.bash"
echo 1..6
bitcode lua -I/usr/include/lua5.4 && bitcode sqlite || exit 1
script=$here/strings.lua
sql=$out/orders.sql
awk -f $here/orders.awk >"$sql"
record "$out/lua.ordinary" lua5.4 $script
record "$out/sqlite.ordinary" sqlite3 :memory: <"$sql"
CC=${CC:-gcc}
$CC -O1 -Wall -Wextra -Werror $here/harden.c -o "$out/harden" || exit 1
$CC -O1 -Wall -Wextra -Werror -Iinclude $here/forked.c "$BUILD/libtenon.a" -pthread -lm -ldl -rdynamic \
    -Wl,--no-as-needed -lm -o "$out/forked" || exit 1
for name in lua sqlite; do
    "$BUILD/tenon" compile -O1 "$out/$name.bc" -o "$out/$name.o" || exit 1
done

hardened() { # NAME ORDINARY WORD...
    local name=$1 ordinary=$2
    shift 2
    record "$out/$name" "$out/harden" "$BUILD/tenon" run "$@"
    if [ "$(cat "$out/$name.status")" = 77 ]; then
        echo "ok programs/hardened.$name # SKIP this kernel has no PR_SET_MDWE"
    else
        same "programs/hardened.$name" "$ordinary" "$out/$name"
    fi
}
hardened lua "$out/lua.ordinary" "$out/lua.bc" "$archives/liblua5.4.a" -- $script
hardened sqlite "$out/sqlite.ordinary" "$out/sqlite.bc" "$archives/libsqlite3.a" <"$sql"

cat "$out/sqlite.ordinary.out" "$out/lua.ordinary.out" >"$out/both"
record "$out/fork" "$out/forked" "$out/lua.o" "$archives/liblua5.4.a" $script "$out/sqlite.o" "$archives/libsqlite3.a" \
    "$sql" "$out/forked"
if [ "$(cat "$out/fork.status")" = 0 ]; then
    echo "ok programs/forked"
else
    echo "not ok programs/forked: $(head -1 "$out/fork.err")"
fi
for part in before parent child; do
    expected=$out/both
    [ $part = before ] && expected=$out/lua.ordinary.out
    if cmp -s "$expected" "$out/forked.$part"; then
        echo "ok programs/forked.$part"
    else
        echo "not ok programs/forked.$part: $(diff "$expected" "$out/forked.$part" | grep -m2 '^[<>]' | tr '\n' ' ')"
    fi
done
