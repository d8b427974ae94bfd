#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the code of a loaded file registers with the C library (atexit, at_quick_exit, pthread_atfork) runs, until the
# file is closed.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=tests/image/source

"$LLVM_BIN/clang" -O1 -fPIC -emit-llvm -c $source/callbacks.c -o "$work/callbacks.bc" &&
    "$BUILD/tenon" build --kind=image -o "$work/image" "$work/callbacks.bc" || exit 1

# host NAME COMPILER FLAG...
host() {
    local name=$1
    shift
    succeeds "$name: it is built" "$@" -O1 -Wall -Wextra -Werror -Iinclude $source/callbacks_host.c \
        "$BUILD/libtenon.a" -pthread -o "$work/host"
    answers "$name: exit" $'prepare\nexit\nfinalizer' timeout 60 "$work/host" "$work/image" open
    answers "$name: quick_exit" $'prepare\nquick' timeout 60 "$work/host" "$work/image" open_quick
    answers "$name: exit, closed" $'finalizer\nexit\nclosed' timeout 60 "$work/host" "$work/image" closed
    answers "$name: quick_exit, closed" $'finalizer\nexit\nclosed' timeout 60 "$work/host" "$work/image" closed_quick
}
host dynamic "$CC"
host low "$CC" -no-pie
host static "$CC" -static
host static-pie "$CC" -static-pie

succeeds "dlopen: the file is built" "$BUILD/tenon" build --kind=shared -o "$work/file.so" "$work/callbacks.bc"
succeeds "dlopen: the program is built" "$CC" -O1 -Wall -Wextra -Werror $source/callbacks_dlopen.c -o "$work/opens"
answers "dlopen: closed" $'prepare\nfinalizer\nexit\nclosed' timeout 60 "$work/opens" "$work/file.so"
