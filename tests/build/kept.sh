#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A build folder serves another checkout: only what differs is built again. tools/build/kept runs a small make.

set -u
kept=$PWD/tools/build/kept
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A checkout: two sources, a stamp of flags, one product of each source.
checkout() {
    mkdir -p "$1"/{src,include,tests,tools,bench,examples,cmake}
    echo one >"$1/src/one"
    echo two >"$1/src/two"
    echo in >"$1/some.in"
    cat >"$1/Makefile" <<'END'
all: build/one build/two
build/%: src/% build/flags/f
	cat $< >$@ && echo $< >>made
build/flags/f:
	mkdir -p build/flags && echo -O2 >$@
END
}

# Runs make in a checkout, and leaves in `made` what it built.
build_in() {
    rm -f "$1/made"
    (cd "$1" && "$kept" build make >/dev/null) || echo "not ok make in ${1##*/}: failed"
    made=$(sort "$1/made" 2>/dev/null | tr '\n' ' ')
}

check() { # NAME WANTED: what was built last
    if [ "$made" = "$2" ]; then echo "ok $1"; else echo "not ok $1: built '$made', not '$2'"; fi
}

checkout "$work/first"
build_in "$work/first"
check "all is built once" "src/one src/two "
build_in "$work/first"
check "nothing is built twice" ""

checkout "$work/older"
touch -d '2001-01-01' "$work/older"/src/*
echo TWO >"$work/older/src/two"
touch -d '2001-01-01' "$work/older/src/two"
cp -a "$work/first/build" "$work/older"
build_in "$work/older"
check "a copy in a clone whose sources are older" "src/two "

sleep 0.01
checkout "$work/newer"
echo ONE >"$work/newer/src/one"
cp -r "$work/first/build" "$work/newer"
touch "$work/newer/build/flags/f"
build_in "$work/newer"
check "a copy without times in a newer clone" "src/one "
[ "$(cat "$work/newer/build/one")" = ONE ] && echo "ok the change is in it" || echo "not ok the change is in it"

echo changed >"$work/newer/src/two"
(cd "$work/newer" && "$kept" build false)
echo two >"$work/newer/src/two"
build_in "$work/newer"
check "times count in the same checkout" "src/two "

(cd "$work/newer" && "$kept" build sh -c '[ ! -e build/kept ]') && echo "ok there is no list while make runs" ||
    echo "not ok there is no list while make runs"
