#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# All of SQLite as bitcode, compiled function by function while the script already runs: 100,000 inserts, joins, JSON,
# full-text search. What it prints is what the sqlite3 command prints; most of it is never compiled.

. "$(dirname "$0")/programs.bash"
echo 1..4
source=build/deps/sqlite3
bitcode sqlite -I"$source" || exit 1
"$LLVM_BIN/clang" -O1 -fPIC -w -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_MATH_FUNCTIONS -c -emit-llvm "$source/sqlite3.c" \
    -o "$out/sqlite3.bc" || exit 1
input=$out/orders.sql
awk -f $here/orders.awk >"$input"
record "$out/ordinary" sqlite3 :memory: <"$input"

for threads in 0 2; do
    stem=$out/threads$threads
    record "$stem" "$BUILD/tenon" run -O0 --lazy --threads $threads --trace-compile="$stem.trace" \
        "$out/sqlite.bc" "$out/sqlite3.bc" <"$input"
    same "programs/sqlite, lazily, $threads threads" "$out/ordinary" "$stem"
    all=$("$BUILD/tenon" compile -O0 --trace-compile=- "$out/sqlite3.bc" -o /dev/null 2>&1 | grep -c '^precompile')
    compiled=$(sort -u "$stem.trace" | grep -c '^precompile') twice=$(sed 's/ #.*//' "$stem.trace" | sort | uniq -d)
    if [ "$compiled" -gt 100 ] && [ "$compiled" -lt $((all * 3 / 4)) ] && [ -z "$twice" ]; then
        echo "ok programs/sqlite compiled $compiled of $all functions, $threads threads"
    else
        echo "not ok programs/sqlite, $threads threads: compiled $compiled of $all, twice: $twice"
    fi
done
