#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Debian's libsqlite3.a with a main of ours, against the sqlite3 command: 100,000 inserts, joins, JSON, full-text
# search.

. "$(dirname "$0")/programs.bash"
echo 1..4
bitcode sqlite || exit 1
input=$out/orders.sql
awk -f $here/orders.awk >"$input"
record "$out/sqlite.ordinary" sqlite3 :memory: <"$input"
check_program sqlite "$out/sqlite.ordinary" "$out/sqlite.bc" "$archives/libsqlite3.a"
