#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# SQLite, from its source, as images; against the sqlite3 command. slow/image_sqlite.sh is this, optimised.

. "$(dirname "${BASH_SOURCE[0]}")/images.bash"
sqlite=build/deps/sqlite3
level=${level:--O0}
bitcode sqlite -I$sqlite || exit 1
"$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -w -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION \
    -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_MATH_FUNCTIONS -emit-llvm -c $sqlite/sqlite3.c -o "$out/sqlite3.bc" || exit 1
bitcode="$out/sqlite.bc $out/sqlite3.bc"
input=$out/orders.sql
awk -f $here/orders.awk >"$input"
record "$out/ordinary" sqlite3 :memory: <"$input"
# On a terminal, which shows how far it is.
script -qec "'$BUILD/tenon' build $level --targets '$targets' --shards 1 --shard 0 -o '$out/shard' $bitcode" "$out/progress" \
    >/dev/null 2>&1 || exit 1
if tr '\r' '\n' <"$out/progress" | grep -q '\[ *\] 0 of 1 shards  [1-9][0-9]* s'; then
    echo "ok image_sqlite: progress"
else
    echo "not ok image_sqlite: progress: $(tail -n 3 "$out/progress")"
fi
for way in shared image archive; do
    check_image image_sqlite "$out/ordinary" $way
done
