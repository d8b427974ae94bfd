#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Destructors of thread_local C++ objects in every kind of program, musl's among them, which have none of their own.

. tests/build/check

: "${CC:=gcc}" "${CXX:=g++}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
expected='a thread ended: one inner, 0
removed: main inner finalizer, 1
another ended: two inner, 0'

# compile NAME FLAG...
compile() { "$CXX" -O1 -fno-exceptions -DTHROUGH=note "${@:2}" -c tests/image/source/thread_exits.cpp -o "$work/$1.o" ||
    exit 1; }
compile pic -fPIC
compile descriptors -fPIC -mtls-dialect=gnu2
compile no-pic -fno-pic

# host NAME ARCHIVE COMPILER FLAG...
host() {
    local name=$1 archive=$2 said object
    shift 2
    if ! "$@" -O1 -Wall -Wextra -Werror -Iinclude -Itests/hosts tests/hosts/thread_exits.c "$archive" -pthread \
        -o "$work/host" 2>"$work/log"; then
        echo "not ok $name: $(head -n 3 "$work/log")"
        return
    fi
    for object in pic descriptors no-pic; do
        said=$(timeout 60 "$work/host" "$work/$object.o" 2>&1)
        if [ "$said" = "$expected" ]; then echo "ok $name, $object"; else echo "not ok $name, $object: $said"; fi
    done
}
host low "$BUILD/libtenon.a" "$CC" -no-pie
host exported "$BUILD/libtenon.a" "$CC" -no-pie -rdynamic
host static "$BUILD/libtenon.a" "$CC" -static
[ ! -f "$BUILD/musl/libtenon.a" ] || host musl "$BUILD/musl/libtenon.a" musl-gcc -static
