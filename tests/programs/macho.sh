#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Lua and zstd compiled for macOS on x86-64, run here: each source a Mach-O object, against the same sources compiled
# for Linux. The headers are this system's, so the objects call its C library; clang's macro __nonnull for macOS is not
# theirs.
#
# time limit: 600

. "$(dirname "$0")/programs.bash"
include=/usr/include
apple="--target=x86_64-apple-macos13 -fno-stack-protector -D__linux__ -U__nonnull"
apple="$apple -isystem $include/$(gcc -print-multiarch) -isystem $include"

# Compiles sources side by side to FOLDER/*.o.
compile() { # FOLDER FLAGS SOURCE...
    local folder=$1 flags=$2
    shift 2
    mkdir -p "$folder"
    printf '%s\n' "$@" | xargs -P "${JOBS:-1}" -I{} bash -c \
        '"$1" $2 -w -c "$4" -o "$3/$(basename "$4" .c).o"' _ "$LLVM_BIN/clang" "$flags" "$folder" {}
}

# $1 name, $2 record of the ordinary program, the rest: what stands after `tenon run`.
check() {
    local name=$1 ordinary=$2
    shift 2
    record "$out/$name" "$out/watch_maps" "$out/$name.maps" "$BUILD/tenon" run "$@"
    same "programs/macho.$name" "$ordinary" "$out/$name"
    never_wx "programs/macho.$name.maps" "$out/$name.maps"
}

lua=build/deps/lua5.4/src
if [ -f $lua/lua.h ]; then
    flags="-O2 -w -I$lua -DLUA_USE_POSIX"
    sources="$here/lua.c $(ls $lua/*.c | grep -v '/luac\?\.c$')"
    compile "$out/objects" "$flags $apple" $sources || exit 1
    rm -f "$out/lua.a"
    "$LLVM_BIN/llvm-ar" --format=darwin rcsD "$out/lua.a" $(ls "$out"/objects/l*.o | grep -v /lua.o) || exit 1
    for script in nbody strings; do
        record "$out/$script.ordinary" "$bitcode/lua.plain" $here/$script.lua
        check $script "$out/$script.ordinary" "$out/objects/lua.o" "$out/lua.a" -- $here/$script.lua
    done
else
    echo "ok programs/macho, Lua # SKIP $lua is not there"
fi

zstd=build/deps/libzstd/lib
if [ -f $zstd/zstd.h ]; then
    flags="-O1 -w -I$zstd -DZSTD_MULTITHREAD -DZSTD_DISABLE_ASM"
    sources="tests/link/qemu/zstd.c $(ls $zstd/common/*.c $zstd/compress/*.c $zstd/decompress/*.c)"
    compile "$out/linux" "${flags/-O1/-O0}" $sources || exit 1
    "$LLVM_BIN/clang" "$out"/linux/*.o -pthread -o "$out/zstd" || exit 1
    compile "$out/zstd-objects" "$flags $apple" $sources $here/darwin.c || exit 1
    record "$out/zstd.ordinary" "$out/zstd"
    check zstd "$out/zstd.ordinary" "$out"/zstd-objects/*.o
else
    echo "ok programs/macho, zstd # SKIP $zstd is not there"
fi
