#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The objects of a lazy JIT's parts: SQLite, Lua and zstd, function by function, have the same bytes whatever the order
# of modules and of first calls, the threads, and where everything lies in memory, which differs in each process.
# time limit: 1800

. "$(dirname "$0")/programs.bash"
echo 1..7
folder=$PWD
out=$folder/$out
tenon=$(realpath "$BUILD/tenon")

# What a run compiled, in a folder of its own: $1 its name, $2 threads, then -O and the arguments. Standard input is
# $input.
objects() {
    local to=$out/$1 threads=$2
    shift 2
    rm -rf "$to" && mkdir "$to"
    (cd "$bitcode" && "$tenon" run --lazy --threads="$threads" --dump=obj --dump-dir="$to" "$@") \
        <"${input:-/dev/null}" >"$to.out" 2>"$to.err"
}

# One check: are the functions that two runs compiled the same, byte for byte, and many? $1 name, $2, $3 runs, $4 least
# number of functions of both. Files are called MODULE(FUNCTION).o.
equal() {
    local different count
    count=$(comm -12 <(ls "$out/$2") <(ls "$out/$3") | wc -l)
    different=$(LC_ALL=C diff -rq "$out/$2" "$out/$3" | sed -n 's:^Files .*/\(.*\) differ$:\1:p' | tr '\n' ' ')
    if [ "$count" -ge "$4" ] && [ -z "$different" ]; then
        echo "ok programs/canonical: $1 ($count functions)"
    else
        echo "not ok programs/canonical: $1: of $count functions these differ: $different$(head -1 "$out/$3.err")"
    fi
}

# ---- SQLite: one large module and a small one ----

echo "create table t(a, b); insert into t values (1, 'x'), (2, 'y'); select sum(a), b from t group by b;" >"$out/1.sql"
{
    echo "select json_extract('{\"a\": [1, 2]}', '$.a[1]'), upper('x') || printf('%05.2f', 1.5);"
    cat "$out/1.sql"
    echo "create index i on t(b); select * from t where b = 'y'; explain select * from t;"
} >"$out/2.sql"
input=$out/1.sql
main=sqlite/sqlite.bc library=sqlite/sqlite3.bc
objects sqlite.0 0 -O0 $main $library
objects sqlite.order 0 -O0 $library $main
objects sqlite.threads 2 -O0 $main $library
objects sqlite.2 0 -O2 $main $library
input=$out/2.sql
objects sqlite.calls 0 -O0 $main $library
objects sqlite.2.all 2 -O2 $library $main
for other in order threads calls; do
    equal "sqlite, $other" sqlite.0 sqlite.$other 200
done
equal "sqlite -O2, all of that" sqlite.2 sqlite.2.all 200
input=

# ---- Lua: a module for each of its files ----

forward=$(cd "$bitcode" && ls lua/*.bc)
backward=$(cd "$bitcode" && ls -r lua/*.bc)
objects lua.0 0 -O1 $forward -- "$folder/$here/strings.lua"
objects lua.other 2 -O1 $backward -- "$folder/$here/strings.lua"
objects lua.calls 0 -O1 $forward -- "$folder/$here/nbody.lua"
equal "lua, order and threads" lua.0 lua.other 100
equal "lua, calls" lua.0 lua.calls 100

# ---- zstd: likewise, with many functions that are local to a file ----

forward=$(cd "$bitcode" && ls compress/*.bc)
backward=$(cd "$bitcode" && ls -r compress/*.bc)
objects zstd.0 0 -O1 $forward -- 1
objects zstd.other 2 -O1 $backward -- 1
equal "zstd, order and threads" zstd.0 zstd.other 100
