#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# libz.a and libzstd.a: 10 MB there and back, against the ordinary build. libzstd.a reaches `stderr` by PC32: the window
# has to lie within 2 GiB of the tool.

. "$(dirname "$0")/programs.bash"
echo 1..4
bitcode roundtrip || exit 1
"$LLVM_BIN/clang" -O2 $here/roundtrip.c -o "$out/roundtrip" -lz -lzstd || exit 1
record "$out/roundtrip.ordinary" "$out/roundtrip"
check_program roundtrip "$out/roundtrip.ordinary" "$out/roundtrip.bc" "$archives/libz.a" "$archives/libzstd.a"
