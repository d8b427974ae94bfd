#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# COMDAT groups, sections of functions and other names for them: two objects that have the same ones are linked by the
# system's linkers and by Tenon.

. tests/build/check

here=tests/baseline
out=$BUILD/tests/baseline/symbols
mkdir -p "$out" || exit 1
main='define i32 @main() { %r = call i32 @run(i32 5) ret i32 %r }'
{ cat $here/source/symbols.ll; echo "$main"; } >"$out/main.ll"
cp $here/source/symbols.ll "$out/other.ll"
expected="15 45 135 3405 1"
for name in main other; do
    said=$("$BUILD/tenon" compile -O0 --baseline --stats "$out/$name.ll" -o "$out/$name.o" 2>&1)
    some "$name is covered" "$(grep ' functions; 0 left to LLVM' <<<"$said")"
done
none "two groups" "$(readelf -g "$out/main.o" | grep -c 'COMDAT group section' | grep -vx 2)"
some "a section" "$(readelf -SW "$out/main.o" | grep ' own_code .* AX ')"
answers "in one object" "$expected" "$BUILD/tenon" run "$out/main.o"
answers "in two objects" "$expected" "$BUILD/tenon" run "$out/other.o" "$out/main.o"
answers "lazily" "$expected" "$BUILD/tenon" run -O0 --lazy "$out/other.ll" "$out/main.ll"
for linker in bfd lld; do
    succeeds "linked by $linker" "${CC:-gcc}" -B"$LLVM_BIN" -fuse-ld=$linker -no-pie "$out/main.o" "$out/other.o" \
        -o "$out/linked"
    answers "and run" "$expected" "$out/linked"
done
one=$(objdump --dwarf=frames "$out/linked" 2>&1 | grep -c 'FDE .* pc=')
none "frames of one group only" "$(objdump --dwarf=frames "$out/linked" 2>&1 | grep 'pc=0000000000000000')"
some "frames are there" "$([ "$one" -gt 4 ] && echo yes)"
# Each function has a section of its own: more than an object can have, with those of relocations and groups. (Not with
# --stats: LLVM's remarks take a time that grows with the square of the number of functions.)
seq 22000 | sed 's/.*/$f& = comdat any\ndefine void @f&() comdat { ret void }/' >"$out/many.ll"
succeeds "too many sections" "$BUILD/tenon" compile -O0 --baseline "$out/many.ll" -o "$out/many.o"
# Those of LLVM have tables of exceptions besides.
{
    echo 'declare void @g() declare i32 @__gxx_personality_v0(...)'
    echo '@T = external constant ptr define void @f() { ret void }'
    seq 13200 | sed 's/.*/$f& = comdat any\ndefine void @f&() comdat personality ptr @__gxx_personality_v0 {\
        invoke void @g() to label %a unwind label %b\na: ret void\nb: %l = landingpad { ptr, i32 } catch ptr @T\
        call void asm "", ""() ret void }/'
} >"$out/many_tables.ll"
succeeds "too many sections with tables" "$BUILD/tenon" compile -O0 --baseline "$out/many_tables.ll" -o "$out/many.o"
