# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A program that links another LLVM than Tenon's, as a shared library, uses a compile server (include/tenon_remote.h):
# neither sees the other's LLVM.

. tests/build/check

: "${BUILD:=build}" "${CC:=gcc}"
if ! config=$(command -v llvm-config-14) || [ "$(uname -m)" != x86_64 ]; then
    echo "ok another LLVM # SKIP no llvm-config-14, or not on x86-64"
    exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2046
$CC -std=gnu11 -O1 -Wall -Werror -Iinclude -isystem "$($config --includedir)" tests/hosts/other_llvm.c \
    "$BUILD/libtenon.a" $($config --ldflags --libs --link-shared core bitwriter) -lelf -lz -pthread \
    -o "$work/other" || exit 1
some "the host's LLVM is a shared library" "$(readelf -d "$work/other" | grep 'NEEDED.*libLLVM-14')"
answers "code of the other LLVM's bitcode" 42 "$work/other" "$BUILD/tenon"
