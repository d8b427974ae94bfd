#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Loaded code asks for itself with dladdr and dl_iterate_phdr, in every kind of program.

. tests/build/check

: "${CC:=gcc}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# host NAME ARCHIVE COMPILER FLAG...
host() {
    local name=$1 archive=$2 log
    shift 2
    if ! log=$({ "$@" -O1 -Wall -Wextra -Werror -fPIC -c tests/link/data/itself.c -o "$work/itself.o" &&
        "$@" -O1 -Wall -Wextra -Werror -Iinclude tests/hosts/itself.c "$archive" -pthread -o "$work/host"; } 2>&1); then
        echo "not ok $name: $(echo "$log" | head -n 3)"
        return
    fi
    answers $name '' timeout 60 "$work/host" "$work/itself.o"
}
host dynamic "$BUILD/libtenon.a" "$CC"
host exported "$BUILD/libtenon.a" "$CC" -no-pie -rdynamic
host static "$BUILD/libtenon.a" "$CC" -static
host static-pie "$BUILD/libtenon.a" "$CC" -static-pie
[ ! -f "$BUILD/musl/libtenon.a" ] || host musl "$BUILD/musl/libtenon.a" musl-gcc -static
