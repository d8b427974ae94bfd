#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# C++ compiled for macOS on AArch64 runs here with libstdc++.a: exceptions through functions that only compact unwind
# describes (without frame pointers, some of them), thread-local objects, static constructors and destructors. The
# ordinary program is the same for Linux.
#
# time limit: 600

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
