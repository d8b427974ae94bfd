#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# One program per standard header (and some of glibc's own). Each is built and run as an ordinary program, then run by
# `tenon run`: as an object of clang, as bitcode, and as a position-dependent object of gcc. Output, standard error and
# exit status must be the same.
#
#   tests/headers/run.sh [NAME...]       BUILD, LLVM_BIN, CC and JOBS as tests/run sets them

set -u
: "${BUILD:=build}" "${CC:=gcc}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}" "${JOBS:=$(nproc)}"
folder=tests/headers
out=$BUILD/$folder
flags='-O1 -D_GNU_SOURCE -w'

# Runs a command and leaves output, errors and status in files that begin with $1.
record() {
    local to=$1
    shift
    timeout -k 5 20 "$@" </dev/null >"$to.out" 2>"$to.err"
    echo $? >"$to.status"
}

# Prints what differs between two records; true if nothing does.
same() {
    local part
    for part in status out err; do
        cmp -s "$1.$part" "$2.$part" && continue
        echo "$part: $(diff "$1.$part" "$2.$part" | grep '^[<>]' | head -4 | tr '\n' ' ')"
        return 1
    done
}

check() {
    local name=$1 stem=$out/$1 kind why
    if ! "$LLVM_BIN/clang" $flags -c "$folder/$name.c" -o "$stem.o" 2>"$stem.log" ||
        ! "$LLVM_BIN/clang" "$stem.o" -o "$stem" -lm 2>>"$stem.log" ||
        ! "$LLVM_BIN/clang" $flags -c -emit-llvm "$folder/$name.c" -o "$stem.bc" 2>>"$stem.log" ||
        ! $CC $flags -fno-pic -c "$folder/$name.c" -o "$stem.gcc.o" 2>>"$stem.log"; then
        echo "not ok headers/$name: $(head -1 "$stem.log")"
        return
    fi
    record "$stem.ordinary" "$stem"
    if [ ! -s "$stem.ordinary.out" ]; then
        echo "not ok headers/$name: the ordinary program printed nothing"
        return
    fi
    for kind in o bc gcc.o; do
        record "$stem.tenon-$kind" "$BUILD/tenon" run "$stem.$kind"
        if why=$(same "$stem.ordinary" "$stem.tenon-$kind"); then
            echo "ok headers/$name.$kind"
        else
            echo "not ok headers/$name.$kind: $why"
        fi
    done
}

if [ "${1-}" = --check ]; then
    check "$2"
    exit 0
fi
cd "$(dirname "$0")/../.." || exit 1
mkdir -p "$out"
names=("$@")
[ $# -gt 0 ] || names=($(cd $folder && printf '%s\n' *.c | sed 's/\.c$//'))
echo "1..$((3 * ${#names[@]}))"
export BUILD LLVM_BIN CC
# Each line is written at once, so that lines of several programs do not mix.
printf '%s\0' "${names[@]}" | xargs -0 -n 1 -P "$JOBS" "$folder/run.sh" --check
