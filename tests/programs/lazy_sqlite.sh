#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# All of SQLite as one module: 100,000 inserts, joins, JSON, full-text search.

. "$(dirname "$0")/lazy.bash"
echo 1..6
source=build/deps/sqlite3
bitcode sqlite -I"$source" || exit 1
"$LLVM_BIN/clang" -O1 -fPIC -w -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_MATH_FUNCTIONS -c -emit-llvm "$source/sqlite3.c" \
    -o "$out/sqlite3.bc" || exit 1
input=$out/orders.sql
awk -f $here/orders.awk >"$input"
record "$out/ordinary" sqlite3 :memory: <"$input"
for threads in 0 2; do
    check_lazy sqlite "$out/ordinary" $threads 75 "$out/sqlite.bc" "$out/sqlite3.bc"
done
check_tiers sqlite "$out/ordinary" 20 "$out/sqlite.bc" "$out/sqlite3.bc"
