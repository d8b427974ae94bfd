#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What loaded code registers with the C library (atexit, on_exit, at_quick_exit, pthread_atfork, ...) runs as it does in
# an ordinary program of the same code, in every kind of program; and once the code is removed, nothing of it runs.

. tests/build/check

: "${CC:=gcc}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=tests/hosts

# What a program prints and how it ends, and then what its child prints.
said_by() { { timeout 60 "$@" 2>&1; echo "status $?"; } | sed -n '/^> /!p; /^> /H; ${ x; s/^\n//; /./p; }'; }

# same NAME WANTED SAID
same() { none "$1" "$([ "$2" = "$3" ] || echo "it said: $3")"; }

# build NAME COMPILER FLAG... FILE...
build() {
    local name=$1 log
    shift
    log=$("$@" -O1 -Wall -Wextra -Werror -pthread -o "$work/$name" 2>&1) ||
        { echo "not ok $name: $(echo "$log" | head -n 3)"; return 1; }
}

# host NAME ARCHIVE COMPILER FLAG...
host() {
    local name=$1 archive=$2 mode removed=(flush last status 0 argument first finalizer late removed)
    shift 2
    [ $name != musl ] || removed=(flush last argument first finalizer removed)
    "$@" -O1 -Wall -Wextra -Werror -fPIC -c $here/callbacks_plugin.c -o "$work/plugin.o" &&
        build native "$@" -DNATIVE $here/callbacks.c "$work/plugin.o" &&
        build host "$@" -Iinclude $here/callbacks.c "$archive" || return
    for mode in exit return quick fork child; do
        same "$name: $mode" "$(said_by "$work/native" $mode)" "$(said_by "$work/host" $mode "$work/plugin.o")"
    done
    # Those of forks and of quick_exit are forgotten, those of exit have run.
    gone() { same "$name: $1, removed" "$(printf '%s\n' "${removed[@]}" "${@:2}")" \
        "$(said_by "$work/host" removed-$1 "$work/plugin.o")"; }
    gone exit 'status 4'
    gone return 'status 5'
    gone quick 'status 4'
    gone fork 'in the parent' 0 'status 0' '> in the child'
    gone child 'in the parent' 3 'status 0' '> in the child'
}

host dynamic "$BUILD/libtenon.a" "$CC"
host low "$BUILD/libtenon.a" "$CC" -no-pie
host static "$BUILD/libtenon.a" "$CC" -static
host static-pie "$BUILD/libtenon.a" "$CC" -static-pie
[ ! -f "$BUILD/musl/libtenon.a" ] || host musl "$BUILD/musl/libtenon.a" musl-gcc -static
