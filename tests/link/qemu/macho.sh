#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# C++ compiled for macOS on AArch64 runs here with libstdc++.a: exceptions through functions that only compact unwind
# describes (without frame pointers, some of them), thread-local objects, static constructors and destructors. So do Lua
# and zstd, each source an object, with the headers of Linux's C library. The ordinary program is the same for Linux.
#
# time limit: 1200

. "$(dirname "$0")/qemu.bash"
data=tests/link/data/macho
sources="$data/throws.cpp $data/throws_main.c"
cxx=$(compiler aarch64 g++)
libraries="$($cxx -print-file-name=libstdc++.a) $($cxx -print-file-name=libatomic.a) $($cxx -print-file-name=libgcc.a)"
for flags in -O0 -O2 "-O2 -fomit-frame-pointer"; do
    stem=$out/${flags// /}
    name="C++ for macOS, aarch64, $flags"
    mkdir -p "$stem"
    if ! $cxx -w $flags -static -x c++ $data/throws.cpp -x c $data/throws_main.c -o "$stem.program" 2>"$stem.log"; then
        echo "not ok $name: $(head -1 "$stem.log")"
        continue
    fi
    for source in $sources; do
        "$LLVM_BIN/clang" --target=arm64-apple-macos13 -w -ffreestanding $flags -c "$source" \
            -o "$stem/$(basename "$source").o" || echo "not ok $name: it cannot be compiled"
    done
    if [[ $flags != *omit* ]] && "$LLVM_BIN/llvm-objdump" --section-headers "$stem/throws.cpp.o" |
        grep -q __eh_frame; then
        echo "not ok $name: there is an __eh_frame, too"
    fi
    record "$stem.ordinary" emulate aarch64 "$stem.program"
    record "$stem.linked" emulate aarch64 "$BUILD/aarch64-linux-gnu/tests/link/qemu/run" "$stem"/*.o $libraries \
        -- "$stem.program"
    same "$name" "$stem.ordinary" "$stem.linked"
done

# $1 name, $2 flags, $3 sources, the rest: arguments of the program.
check_c() {
    local name=$1 flags=$2 sources=$3 stem=$out/$1
    local apple="$LLVM_BIN/clang --target=arm64-apple-macos13 -fno-stack-protector -D__linux__ -U__nonnull"
    shift 3
    # shellcheck disable=SC2086
    if ! compile "$stem.linux" aarch64 gcc "$flags" $sources 2>"$stem.log" ||
        ! aarch64-linux-gnu-gcc -static "$stem.linux"/*.o -o "$stem.program" -pthread -lm 2>"$stem.log" ||
        ! compile_with "$stem.macho" "$apple -isystem /usr/aarch64-linux-gnu/include -w $flags" \
            $sources tests/programs/darwin.c tests/programs/variadic.c 2>"$stem.log"; then
        echo "not ok $name for macOS, aarch64: it cannot be built: $(head -1 "$stem.log")"
        return
    fi
    record "$stem.ordinary" emulate aarch64 "$stem.program" "$@"
    record "$stem.linked" emulate aarch64 "$BUILD/aarch64-linux-gnu/tests/link/qemu/run" "$stem.macho"/*.o \
        -- "$stem.program" "$@"
    same "$name for macOS, aarch64" "$stem.ordinary" "$stem.linked"
}

lua=build/deps/lua5.4/src
check_c lua "-O2 -I$lua -DLUA_USE_POSIX" "tests/programs/lua.c $(ls $lua/*.c | grep -v '/luac\?\.c$')" \
    tests/programs/strings.lua
zstd=build/deps/libzstd/lib
check_c zstd "-O1 -I$zstd -DZSTD_MULTITHREAD -DZSTD_DISABLE_ASM" \
    "tests/link/qemu/zstd.c $(ls $zstd/common/*.c $zstd/compress/*.c $zstd/decompress/*.c)"
