#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Differences of two labels in Mach-O objects: each label a symbol, or an address in a section that has no symbols; in 4
# and in 8 bytes; stored in the atom of the label that is subtracted, or in another one. ld64.lld takes symbols alone,
# so its bytes are those of the same object with symbols for the labels; here both objects have to get them.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tenon=$PWD/$BUILD/tenon
if [ ! -x "$LLVM_BIN/ld64.lld" ]; then
    echo "ok pairs # SKIP no lld"
    exit
fi
cd "$work" || exit 1

# La, Lo and Lp have no symbols; _np and Lp begin the atoms that the differences are in.
forms() {
    cat <<'END'
 .section __DATA,__a
 .globl _na
_na: .quad 1, 1
 .section __DATA,__o
 .globl _nb
_nb: .quad 2, 2
 .section __DATA,__q
 .quad 3
La: .quad 3
 .section __DATA,__r
 .quad 4, 4
Lo: .quad 4
 .section __DATA,__n
 .p2align 3
 .globl _np
_np:
 .long _na - _np + 3, La - _np + 3, _na - _nb + 3, La - _nb + 3, _na - Lo + 3, La - Lo + 3
 .quad _na - _np + 3, La - _np + 3, _na - _nb + 3, La - _nb + 3, _na - Lo + 3, La - Lo + 3
 .section __DATA,__p
 .quad 5
Lp:
 .long _na - Lp + 3, La - Lp + 3, _na - _nb + 3, La - _nb + 3, _na - Lo + 3, La - Lo + 3
 .quad _na - Lp + 3, La - Lp + 3, _na - _nb + 3, La - _nb + 3, _na - Lo + 3, La - Lo + 3
 .subsections_via_symbols
END
}
forms >local.s
forms | sed 's/\bL\([aop]\)\b/_x\1/g' >symbols.s
for object in local symbols; do
    succeeds "$object is assembled" \
        "$LLVM_BIN/llvm-mc" -triple x86_64-apple-macos13 -filetype=obj $object.s -o $object.o
done

# Of the two relocations of each pair: `extern` or `local`, and how many bytes.
"$LLVM_BIN/llvm-readobj" --relocs local.o |
    awk '$5 == "X86_64_RELOC_SUBTRACTOR" { minus = $4 ? "extern" : "local" }
        $5 == "X86_64_RELOC_UNSIGNED" { print minus, $4 ? "extern" : "local", 2 ^ $3 }' | sort | uniq -c >pairs
for minus in extern local; do
    for plus in extern local; do
        for size in 4 8; do
            some "a pair of $minus and $plus, $size bytes" "$(grep "$minus $plus $size" pairs)"
        done
    done
done

# bytes FILE SECTION: of lld's output, or of ours as JSON; all parts of the section.
theirs() { "$LLVM_BIN/llvm-objdump" -s -j "$2" "$1" | sed -n 's/^ [0-9a-f]* \([0-9a-f ]*\)  .*/\1/p' | tr -d ' \n'; }
ours() { sed -n "s/.*\"name\": \"__DATA,$2\",.*\"bytes\": \"\([0-9a-f]*\)\".*/\1/p" "$1" | tr -d '\n'; }

succeeds "ld64.lld links the one with symbols" "$LLVM_BIN/ld64.lld" -arch x86_64 -platform_version macos 13 13 -dylib \
    symbols.o -o lld
refused=$("$LLVM_BIN/ld64.lld" -arch x86_64 -platform_version macos 13 13 -dylib local.o -o refused 2>&1)
some "and refuses the other" "$(grep 'must be extern' <<<"$refused")"
for object in symbols local; do
    succeeds "$object is linked" "$tenon" link --noexec --entry=_np --dump-json $object.json $object.o
    for section in __n __p; do
        wanted=$(theirs lld $section)
        some "lld has bytes of $section" "$wanted"
        answers "$object has them, too: $section" "$wanted" ours $object.json $section
    done
done
