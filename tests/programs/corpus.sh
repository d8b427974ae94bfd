#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The sources of Lua, SQLite, zlib and zstd as bitcode, through every level: each program prints what clang -O2 makes
# of the same bitcode. An analysis that a pass needs and nobody registered is a crash here.
#
# time limit: 1800

. "$(dirname "$0")/programs.bash"
echo 1..12
deps=build/deps
clang=$LLVM_BIN/clang

# together NAME FLAGS SOURCE... -> $out/NAME.bc: clang's output for all of them as one module, and $out/NAME, the
# ordinary program
together() {
    local name=$1 flags=$2 source parts=()
    shift 2
    for source; do
        parts+=("$out/$name.${#parts[@]}.part")
        $clang -O1 -Xclang -disable-llvm-passes -w $flags -c -emit-llvm "$source" -o "${parts[-1]}" || return
    done
    "$LLVM_BIN/llvm-link" "${parts[@]}" -o "$out/$name.bc" && rm -f "${parts[@]}" &&
        $clang -O2 "$out/$name.bc" -lm -o "$out/$name"
}

# levels NAME ARGUMENT...: standard input is the file $input
levels() {
    local name=$1 level
    shift
    record "$out/$name.ordinary" "$out/$name" "$@" <"$input"
    for level in 0 1 2 3; do
        record "$out/$name.$level" "$BUILD/tenon" run -O$level "$out/$name.bc" -- "$@" <"$input"
        same "programs/corpus/$name -O$level" "$out/$name.ordinary" "$out/$name.$level"
    done
}

lua=()
for file in "$deps"/lua5.4/src/*.c; do
    [[ $file == */lua.c || $file == */luac.c ]] || lua+=("$file")
done
zstd=$deps/libzstd/lib

input=/dev/null
together lua "-DLUA_USE_POSIX -I$deps/lua5.4/src" $here/lua.c "${lua[@]}" && levels lua $here/strings.lua
together compress "-DZSTD_DISABLE_ASM=1 -DHAVE_UNISTD_H -I$deps/zlib -I$zstd" $here/roundtrip.c "$deps"/zlib/*.c \
    "$zstd"/{common,compress,decompress}/*.c && levels compress
input=$out/orders.sql
awk -v purchases=5000 -f $here/orders.awk >"$input"
together sqlite "-DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_OMIT_LOAD_EXTENSION -I$deps/sqlite3" \
    $here/sqlite.c "$deps/sqlite3/sqlite3.c" && levels sqlite
