#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Lua compiled for macOS on x86-64, run here: each source a Mach-O object, against the same sources compiled for Linux.
# The headers are this system's, so the objects call its C library; clang's macro __nonnull for macOS is not theirs.

. "$(dirname "$0")/programs.bash"
lua=build/deps/lua5.4/src
if [ ! -f $lua/lua.h ]; then
    echo "ok programs/macho # SKIP $lua is not there"
    exit 0
fi
flags="-O2 -w -I$lua -DLUA_USE_POSIX"
include=/usr/include
apple="--target=x86_64-apple-macos13 -fno-stack-protector -D__linux__ -U__nonnull"
apple="$apple -isystem $include/$(gcc -print-multiarch) -isystem $include"
sources="$here/lua.c $(ls $lua/*.c | grep -v '/luac\?\.c$')"

"$LLVM_BIN/clang" $flags $sources -lm -o "$out/lua" || exit 1
mkdir -p "$out/objects"
printf '%s\n' $sources | xargs -P "${JOBS:-2}" -I{} bash -c \
    '"$1" $2 -c "$4" -o "$3/$(basename "$4" .c).o"' _ "$LLVM_BIN/clang" "$flags $apple" "$out/objects" {} || exit 1
rm -f "$out/lua.a"
"$LLVM_BIN/llvm-ar" --format=darwin rcsD "$out/lua.a" $(ls "$out"/objects/l*.o | grep -v /lua.o) || exit 1

for script in nbody strings; do
    record "$out/$script.ordinary" "$out/lua" $here/$script.lua
    record "$out/$script" "$out/watch_maps" "$out/$script.maps" \
        "$BUILD/tenon" run "$out/objects/lua.o" "$out/lua.a" -- $here/$script.lua
    same "programs/macho.$script" "$out/$script.ordinary" "$out/$script"
    never_wx "programs/macho.$script.maps" "$out/$script.maps"
done
