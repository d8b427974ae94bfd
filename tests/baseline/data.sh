#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Data of modules of which nothing is left to LLVM, beside what LLVM makes of it: sections with their bytes,
# relocations, groups and flags, and symbols. Then the reasons for which LLVM emits data.

. tests/build/check

here=tests/baseline
out=$BUILD/tests/baseline/data
bitcode=$BUILD/tests/programs/bitcode
mkdir -p "$out" || exit 1

# both NAME: $out/NAME.ll by both compilers.
both() {
    succeeds "$1 by LLVM" "$BUILD/tenon" compile -O0 "$out/$1.ll" -o "$out/$1.llvm.o"
    succeeds "$1" "$BUILD/tenon" compile -O0 --baseline "$out/$1.ll" -o "$out/$1.o"
    none "$1 is the same" "$($here/compare_data compare "$out/$1.llvm.o" "$out/$1.o")"
}

cp $here/source/data.ll "$out/all.ll"
both all
for name in compress sqlite; do
    "$LLVM_BIN/llvm-dis" "$bitcode/$name.bc" -o - | $here/compare_data strip >"$out/$name.ll"
    both $name
done
"$LLVM_BIN/clang++" -O1 -S -emit-llvm $here/source/exceptions.cpp -o - | $here/compare_data strip >"$out/cxx.ll"
both cxx
# The comparison finds what differs.
sed 's/@byte = global i8 -1/@byte = global i8 -2/; s/@weak = weak global/@weak = global/' \
    $here/source/data.ll >"$out/other.ll"
"$BUILD/tenon" compile -O0 --baseline "$out/other.ll" -o "$out/other.o"
some "a difference" "$($here/compare_data compare "$out/all.llvm.o" "$out/other.o" | grep '^symbol weak')"

# left REASON: the module of standard input is LLVM's, and --stats says why.
left() {
    { echo 'target triple = "x86_64-linux-gnu"'; cat; } >"$out/left.ll"
    "$BUILD/tenon" compile -O0 --baseline --stats "$out/left.ll" -o "$out/left.o" 2>"$out/said"
    some "left for $1" "$(grep "1  data: $1\$" "$out/said")"
}

left "a constant expression" <<<'@a = global i32 ptrtoint (ptr @a to i32)'
left "another address space" <<<'@a = addrspace(7) global i32 1'
for name in .bss.a .lrodata .llvmcmd __llvm_covmap .eh_frame; do
    left "its section" <<<"@a = global i32 0, section \"$name\""
done
left "a property of it" <<<'@a = global i32 1, code_model "large"'
left "metadata of it" <<<'@a = global i32 1, section "own", !exclude !0 !0 = !{}'
left "a COMDAT group of another kind" <<<'$a = comdat nodeduplicate @a = global i32 1, comdat'
left "its alignment" <<<'@a = global i32 1, align 1048576'
left "a vector of bits" <<<'@a = global <3 x i1> <i1 1, i1 0, i1 1>'
left "debug information, or lists for the linker" <<<'@a = global i32 1 !llvm.linker.options = !{!0} !0 = !{!"x", !"y"}'
left "debug information, or lists for the linker" \
    <<<'define void @a() { ret void } !llvm.dependent-libraries = !{!0} !0 = !{!"m"}'

# What lies in no section of the object is linked to none.
cat >"$out/linked.ll" <<'END'
target triple = "x86_64-linux-gnu"
@common = common global i32 0
@elsewhere = external global i32
@with_common = global i32 1, section "with_common", !associated !0
@with_other = global i32 2, section "with_other", !associated !1
!0 = !{ptr @common}
!1 = !{ptr @elsewhere}
END
succeeds "linked" "$BUILD/tenon" compile -O0 --baseline "$out/linked.ll" -o "$out/linked.o"
for name in with_common with_other; do
    some "$name: linked to none" "$("$LLVM_BIN/llvm-readelf" -S "$out/linked.o" | grep " $name .* WAL *0 *0 *4$")"
done

# Linkers keep functions, too.
cat >"$out/kept.ll" <<'END'
target triple = "x86_64-linux-gnu"
@llvm.used = appending global [2 x ptr] [ptr @kept, ptr @placed], section "llvm.metadata"
define internal void @kept() { ret void }
define internal void @placed() section "place" { ret void }
define internal void @other() { ret void }
END
for how in "" --baseline; do
    # shellcheck disable=SC2086
    succeeds "kept $how" "$BUILD/tenon" compile -O0 $how "$out/kept.ll" -o "$out/kept.o"
    some "kept $how: as many" "$("$LLVM_BIN/llvm-readelf" -S "$out/kept.o" | grep -c ' AXR ' | grep -x 2)"
    some "kept $how: a section" "$("$LLVM_BIN/llvm-readelf" -S "$out/kept.o" | grep ' \.text\.kept .* AXR ')"
    some "kept $how: the named one" "$("$LLVM_BIN/llvm-readelf" -S "$out/kept.o" | grep ' place .* AXR ')"
done

# What has no name gets the same one each time.
cat >"$out/unnamed.ll" <<'END'
target triple = "x86_64-linux-gnu"
@0 = private constant i32 0
@1 = private constant i32 1
@2 = private constant i32 2
@3 = private constant i32 3
@4 = private constant i32 4
@5 = private constant i32 5
@all = global [6 x ptr] [ptr @0, ptr @1, ptr @2, ptr @3, ptr @4, ptr @5]
END
for how in "-O0 --baseline" --emit=flat; do
    for i in 1 2 3 4 5 6 7 8 9 10; do
        # shellcheck disable=SC2086
        "$BUILD/tenon" compile $how "$out/unnamed.ll" -o "$out/unnamed.$i" 2>&1
        cmp "$out/unnamed.1" "$out/unnamed.$i" 2>&1
    done >"$out/differences"
    some "unnamed, $how: there is one" "$(tr -d '\0' <"$out/unnamed.10" | grep -a unnamed)"
    none "unnamed, $how: all are the same" "$(cat "$out/differences")"
done
