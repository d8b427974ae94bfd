#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The baseline compiler against LLVM -O0, on IR that tests/baseline/generate writes: every operation, and programs.

. tests/build/check

here=tests/baseline
out=$BUILD/tests/baseline/operations
mkdir -p "$out" || exit 1

# both NAME: passes if both compilers make a program that says the same.
both() {
    local file=$out/$1
    "$BUILD/tenon" run -O0 --no-baseline "$file.ll" >"$file.expected" 2>&1
    "$BUILD/tenon" run -O0 --stats "$file.ll" >"$file.said" 2>"$file.stats"
    if ! [ -s "$file.expected" ]; then
        none "$1" "LLVM's says nothing"
    elif ! grep -q 'baseline.* [1-9][0-9]* functions; 0 left to LLVM' "$file.stats"; then
        none "$1" "not all is covered: $(grep -A3 baseline "$file.stats")"
    else
        none "$1" "$(diff "$file.expected" "$file.said")"
        rm -f "$file".*
    fi
}

for part in arithmetic compares casts long_doubles bits widths wide vectors memory stacks switches; do
    $here/generate operations $part >"$out/$part.ll" || exit 1
    both $part
done
for seed in $(seq 1 "${PROGRAMS:-12}"); do
    $here/generate program "$seed" >"$out/program$seed.ll" || exit 1
    both "program$seed"
done
