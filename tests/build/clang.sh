# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The library is built by clang as well as by gcc, with the same warnings: fuzzers and products are.

. tests/build/check

clang_build=$BUILD/clang
succeeds "clang builds libtenon.a" make -s -f tools/build/rules.mk LLVM=0 BUILD="$clang_build" CC="$LLVM_BIN/clang" \
    MIMALLOC_DIR="${MIMALLOC_DIR:-build/deps/mimalloc}" OPT=-O0 CFLAGS=-g0 "$clang_build/libtenon.a"
some "the library is there" "$(find "$clang_build" -name libtenon.a)"
