#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# time limit: 1800
#
# SQLite, from its source, as images; against the sqlite3 command. slow/image_sqlite.sh is this, optimised.

. "$(dirname "${BASH_SOURCE[0]}")/images.bash"
sqlite=build/deps/sqlite3
level=${level:--O0}
sources=($here/sqlite.c $sqlite/sqlite3.c)
flags=(-w -I$sqlite -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_ENABLE_FTS5 \
    -DSQLITE_ENABLE_MATH_FUNCTIONS)
compile libc || exit 1
input=$out/orders.sql
awk -f $here/orders.awk >"$input"
record "$out/ordinary" sqlite3 :memory: <"$input"

# On a terminal, which shows how far it is. (Other shells than bash do not pass its functions on.)
export -f build
export BUILD level targets out
SHELL=$BASH script -qec "bash -c 'build libc --shard 0 -o \"\$out/shard\"'" "$out/progress" >/dev/null 2>&1 || exit 1
if tr '\r' '\n' <"$out/progress" | grep -q '\[ *\] 0 of 1 shards  [1-9][0-9]* s'; then
    echo "ok image_sqlite: progress"
else
    echo "not ok image_sqlite: progress: $(tail -n 3 "$out/progress")"
fi

for way in shared image archive exe; do
    check_image image_sqlite "$out/ordinary" $way
done
