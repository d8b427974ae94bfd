# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# zstd with threads, each source an object.
#
# time limit: 1200

. "$(dirname "$0")/qemu.bash"
pairwise=1
zstd=build/deps/libzstd/lib
check_program zstd "gcc clang" "-O2 -fPIC -I$zstd -DZSTD_MULTITHREAD -DZSTD_DISABLE_ASM" \
    "tests/link/qemu/zstd.c $(ls $zstd/common/*.c $zstd/compress/*.c $zstd/decompress/*.c)"
