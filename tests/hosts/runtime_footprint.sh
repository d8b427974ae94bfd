#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# How large the smallest product is: one static file that is linked with musl, stripped, and loads an object.

: "${BUILD:=build}" "${CC:=gcc}"
cd "$(dirname "$0")/../.." || exit 1
out=$BUILD/tests/hosts
mkdir -p "$out"

# at_most NAME LIMIT FOUND UNIT
at_most() {
    if [ "${3:-0}" -gt 0 ] && [ "$3" -le "$2" ]; then
        echo "ok $1 ($3 $4, limit $2)"
    else
        echo "not ok $1: ${3:-nothing measured} $4, limit $2"
    fi
}

echo 'extern int three; int nine(void) { return three * three; }' | $CC -O2 -fPIC -xc -c - -o "$out/nine.o" &&
    musl-gcc -O2 -Wall -Wextra -Werror -static -s -Wl,--gc-sections -Iinclude tests/hosts/footprint.c \
        "$BUILD/musl/libtenon.a" -o "$out/footprint" || exit 1
at_most "size of a static musl program" 250000 "$(stat -c %s "$out/footprint")" bytes
at_most "its resident memory" 1500 "$("$out/footprint" "$out/nine.o")" kB
