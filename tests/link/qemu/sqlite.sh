# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# SQLite in one large object: inserts, joins, JSON, full-text search.
#
# time limit: 1200

. "$(dirname "$0")/qemu.bash"
pairwise=1
sqlite=build/deps/sqlite3
input=$out/orders.sql
awk -f tests/programs/orders.awk >"$input"
check_program sqlite "clang gcc" "-O1 -fPIC -I$sqlite -DSQLITE_ENABLE_FTS5 -DSQLITE_OMIT_LOAD_EXTENSION" \
    "tests/programs/sqlite.c $sqlite/sqlite3.c"
