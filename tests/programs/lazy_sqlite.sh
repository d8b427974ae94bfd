#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# All of SQLite as one module: 100,000 inserts, joins, JSON, full-text search.

. "$(dirname "$0")/lazy.bash"
echo 1..6
input=$out/orders.sql
awk -f $here/orders.awk >"$input"
record "$out/ordinary" sqlite3 :memory: <"$input"
for threads in 0 2; do
    check_lazy sqlite "$out/ordinary" $threads 75 "$bitcode"/sqlite/*.bc
done
check_tiers sqlite "$out/ordinary" 20 "$bitcode"/sqlite/*.bc
