#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The objects of a lazy JIT's parts: SQLite, Lua and zstd, function by function, have the same bytes whatever the order
# of modules and of first calls, the threads, and where everything lies in memory, which differs in each process.
# time limit: 1800

. "$(dirname "$0")/programs.bash"
echo 1..9
folder=$PWD
out=$folder/$out
tenon=$(realpath "$BUILD/tenon")

# What a run compiled, in a folder of its own: $1 its name, $2 threads, then -O and the arguments. Standard input is
# $input.
objects() {
    local to=$out/$1 threads=$2
    shift 2
    rm -rf "$to" && mkdir "$to"
    (cd "$out" && "$tenon" run --lazy --threads="$threads" --dump=obj --dump-dir="$to" "$@" <"${input:-/dev/null}") \
        >"$to.out" 2>"$to.err"
}

# One check: are the functions that two runs compiled the same, byte for byte, and many? $1 name, $2, $3 runs, $4 least
# number of functions of both. Files are called MODULE(FUNCTION).o.
equal() {
    local file function different= count=0
    for file in "$out/$2"/*; do
        function=$out/$3/${file##*/}
        [ -e "$function" ] || continue
        count=$((count + 1))
        cmp -s "$file" "$function" || different+=" ${file##*/}"
    done
    if [ "$count" -ge "$4" ] && [ -z "$different" ]; then
        echo "ok programs/canonical: $1 ($count functions)"
    else
        echo "not ok programs/canonical: $1: of $count functions these differ:$different $(head -1 "$out/$3.err")"
    fi
}

# ---- SQLite: one large module and a small one ----

source=build/deps/sqlite3
bitcode sqlite -I"$source" || exit 1
"$LLVM_BIN/clang" -O1 -fPIC -w -DSQLITE_ENABLE_FTS5 -c -emit-llvm "$source/sqlite3.c" -o "$out/sqlite3.bc" || exit 1
echo "create table t(a, b); insert into t values (1, 'x'), (2, 'y'); select sum(a), b from t group by b;" >"$out/1.sql"
{
    echo "select json_extract('{\"a\": [1, 2]}', '$.a[1]'), upper('x') || printf('%05.2f', 1.5);"
    cat "$out/1.sql"
    echo "create index i on t(b); select * from t where b = 'y'; explain select * from t;"
} >"$out/2.sql"
input=$out/1.sql
objects sqlite.0 0 -O0 sqlite.bc sqlite3.bc
objects sqlite.order 0 -O0 sqlite3.bc sqlite.bc
objects sqlite.threads 2 -O0 sqlite.bc sqlite3.bc
objects sqlite.2 0 -O2 sqlite.bc sqlite3.bc
input=$out/2.sql
objects sqlite.calls 0 -O0 sqlite.bc sqlite3.bc
objects sqlite.2.all 2 -O2 sqlite3.bc sqlite.bc
for other in order threads calls; do
    equal "sqlite, $other" sqlite.0 sqlite.$other 200
done
equal "sqlite -O2, all of that" sqlite.2 sqlite.2.all 200
input=

# ---- Lua: a module for each of its files ----

ls build/deps/lua5.4/src/*.c | grep -v -e '/lua\.c$' -e '/luac\.c$' >"$out/sources"
mkdir -p "$out/lua" && bitcode lua -Ibuild/deps/lua5.4/src || exit 1
mv "$out/lua.bc" "$out/lua/main.bc"
xargs -P "$(nproc)" -I{} sh -c '"$0" -O1 -Xclang -disable-llvm-passes -DLUA_USE_POSIX -emit-llvm -c "$1" \
    -o "$2/$(basename "$1" .c).bc"' "$LLVM_BIN/clang" {} "$out/lua" <"$out/sources" || exit 1
forward=$(cd "$out" && ls lua/*.bc)
backward=$(cd "$out" && ls -r lua/*.bc)
objects lua.0 0 -O1 $forward -- "$folder/$here/strings.lua"
objects lua.order 0 -O1 $backward -- "$folder/$here/strings.lua"
objects lua.threads 2 -O1 $forward -- "$folder/$here/strings.lua"
objects lua.calls 0 -O1 $forward -- "$folder/$here/nbody.lua"
for other in order threads calls; do
    equal "lua, $other" lua.0 lua.$other 100
done

# ---- zstd: likewise, with many functions that are local to a file ----

mkdir -p "$out/zstd" && bitcode roundtrip || exit 1
mv "$out/roundtrip.bc" "$out/zstd/main.bc"
ls build/deps/libzstd/lib/{common,compress,decompress}/*.c >"$out/sources"
xargs -P "$(nproc)" -I{} sh -c '"$0" -O1 -Xclang -disable-llvm-passes -DZSTD_DISABLE_ASM -emit-llvm -c "$1" \
    -o "$2/$(basename "$1" .c).bc"' "$LLVM_BIN/clang" {} "$out/zstd" <"$out/sources" || exit 1
forward=$(cd "$out" && ls zstd/*.bc)
backward=$(cd "$out" && ls -r zstd/*.bc)
objects zstd.0 0 -O1 $forward "$archives/libz.a"
objects zstd.order 0 -O1 $backward "$archives/libz.a"
objects zstd.threads 2 -O1 $forward "$archives/libz.a"
for other in order threads; do
    equal "zstd, $other" zstd.0 zstd.$other 100
done
