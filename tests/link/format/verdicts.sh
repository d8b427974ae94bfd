#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Objects that ld.lld, lld-link and ld64.lld refuse to link together are refused here, and those that they link are
# linked. Where this is not so on purpose, the row says which of the two it is here, and doc/LINKER.md says why.

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
out=$BUILD/tests/link/format/verdicts
mkdir -p "$out"
tenon=$(realpath "$BUILD/tenon")
cd "$out" || exit 1
if [ ! -x "$LLVM_BIN/lld-link" ]; then
    echo "ok link/verdicts # SKIP no lld"
    exit
fi

# Assembles standard input.
object() { # FILE TRIPLE [OPTION...]
    "$LLVM_BIN/llvm-mc" -filetype=obj -triple "$2" "${@:3}" -o "$1" || echo "not ok link/verdicts: $1"
}

verdict() { # LOG COMMAND...
    "${@:2}" >"$1" 2>&1 && echo linked || echo refused
}

# The linker of the format, and `tenon link`, which exports $root.
root=a
check() { # NAME ld.lld|lld-link|ld64.lld WANTED FILE...
    local name=$1 linker=$2 wanted=$3 options theirs ours
    shift 3
    case $linker in
    ld.lld) options="-e $root -o linked" ;;
    lld-link) options="/dll /noentry /out:linked /include:$root" ;;
    ld64.lld) options="-arch $arch -platform_version macos 13 13 -dylib -u $root -o linked" ;;
    esac
    # shellcheck disable=SC2086
    theirs=$(verdict "$name.lld" "$LLVM_BIN/$linker" $options "$@")
    ours=$(verdict "$name.tenon" "$tenon" link --noexec --entry="$root" "$@")
    if [ "$ours" = "${wanted#*!}" ] && [ "$theirs" = "${wanted%!*}" ]; then
        echo "ok link/verdicts/$name"
    else
        echo "not ok link/verdicts/$name: $linker has $theirs it, we have $ours it: $(cat "$name.lld" "$name.tenon")"
    fi
}

# ---- ELF ----

function=$'.globl NAME\nNAME: nop\n'
riscv() { # FILE NAME OPTION...
    object "$1" riscv64 "${@:3}" <<<"${function//NAME/$2}"
}
riscv hard.o a -mattr=+c,+d -target-abi=lp64d
riscv soft.o b -target-abi=lp64
riscv single.o b -mattr=+f -target-abi=lp64f
riscv short.o b -mattr=+d -target-abi=lp64d
riscv ordered.o b -mattr=+d,+ztso -target-abi=lp64d
riscv few.o b -mattr=+e -target-abi=lp64e
riscv also_soft.o a -target-abi=lp64
object data.o riscv64 -target-abi=lp64 <<<$'.data\n.globl b\nb: .quad 1'
check riscv-same ld.lld linked hard.o short.o
check riscv-order ld.lld linked hard.o ordered.o
check riscv-soft ld.lld refused hard.o soft.o
check riscv-single ld.lld refused hard.o single.o
check riscv-few-registers ld.lld refused also_soft.o few.o
check riscv-data ld.lld refused!linked hard.o data.o

# ---- COFF ----

coff() { # FILE DIRECTIVES
    object "$1" x86_64-pc-windows-msvc <<<$'.text\n.section .drectve,"yn"\n.ascii " '"$2"'"'
}
calls() { # FILE NAME: `a`
    object "$1" x86_64-pc-windows-msvc <<<$'.text\n.globl a\na: jmp '"$2"
}
returns() { # FILE NAME NUMBER
    object "$1" x86_64-pc-windows-msvc <<<$'.text\n.globl '"$2"$'\n'"$2: mov \$$3, %eax"$'\nret'
}
comdat() { # FILE SELECTION NAME : `NAME`, and a copy of `f`
    object "$1" x86_64-pc-windows-msvc \
        <<<$'.text\n.globl '"$3"$'\n'"$3"$': ret\n.section .text$f,"xr",'"$2"$',f\n.globl f\nf: ret'
}
calls x.obj x
returns y.obj y 5
coff x-is-y.obj "/alternatename:x=y"
coff x-is-z.obj "/alternatename:x=z"
coff y-is-z.obj "/alternatename:y=z"
returns x5.obj x 5
returns z.obj z 7
check alternate lld-link linked x.obj x-is-y.obj y.obj
check alternate-twice lld-link linked x.obj x-is-y.obj x-is-y.obj y.obj
check alternate-conflict lld-link refused x.obj x-is-y.obj x-is-z.obj y.obj z.obj
check alternate-conflict-unused lld-link refused x.obj x-is-y.obj x-is-z.obj x5.obj
check alternate-chain lld-link 'refused!linked' x.obj x-is-y.obj y-is-z.obj z.obj
coff fail1.obj "/failifmismatch:k=1"
coff fail1more.obj "/failifmismatch:k=1 /failifmismatch:l=2"
coff fail2.obj "/failifmismatch:k=2"
check mismatch-none lld-link linked x.obj x5.obj fail1.obj fail1more.obj
check mismatch lld-link refused x.obj x5.obj fail1.obj fail2.obj
number=0
while read -r wanted directive; do
    number=$((number + 1))
    coff argument.obj "$directive"
    check "argument-$number-$wanted" lld-link "$wanted" x.obj x5.obj argument.obj
done <<'ROWS'
refused /alternatename:x
refused /alternatename:=y
refused /alternatename:x=
linked /alternatename:x=y=z
refused /failifmismatch:k
refused /failifmismatch:k=
refused /failifmismatch:=1
refused /subsystem:bogus
refused /subsystem:
linked /subsystem:console,6.0
linked /subsystem:EFI_ROM
refused /subsystem:console,x
refused /stack:abc
refused /stack:
linked /stack:1,
linked /stack:0x10000,010
refused /stack:1,2,3
refused /entry:
refused!linked /entry:foo
refused /merge:.a
refused /merge:.a=
linked /merge:.a=.b
refused /merge:.rsrc=.text
refused /release:x
linked /release
refused /guardsym
refused /editandcontinue:3
refused /export:
refused /export:x,@0
refused /export:x,@70000
refused /export:x,foo
refused /export:x,@x
refused /export:x=
linked /export:x,private,data
refused /aligncomm:a
refused /aligncomm:a,x
linked /aligncomm:a,13
linked!refused /aligncomm:a,14
refused!linked /nodefaultlib
ROWS

for one in one_only discard same_size same_contents largest; do
    comdat one.obj "$one" a
    for other in one_only discard same_size same_contents largest; do
        comdat other.obj "$other" b
        case $one-$other in
        discard-same_size | same_size-discard) wanted='refused!linked' ;; # compilers for MinGW differ
        discard-largest | largest-discard) wanted=linked ;;
        one_only-one_only) wanted=refused ;;
        *) wanted=refused && [ $one = $other ] && wanted=linked ;;
        esac
        check "comdat-$one-$other" lld-link "$wanted" one.obj other.obj
    done
done
# A section that is associated with another one, which comes before it or after it, and that with `f`.
chain() { # FILE FIRST SECOND
    object "$1" x86_64-pc-windows-msvc <<ROWS
.globl a
a: ret
.section .text\$f,"xr",discard,f
.globl f
f: ret
$(printf '.section .rdata$%s,"dr",associative,%s\n%s: .long 1\n' $2 $3)
ROWS
}
chain associated.obj "one f one" "two f two"
check associated lld-link linked associated.obj
chain chain.obj "one f one" "two one two"
check associated-chain lld-link linked chain.obj

# What runs: 0 is the status of a program that returns what it should.
runs() { # NAME WANTED FILE...
    "$tenon" run "${@:3}" >"$1.tenon" 2>&1
    local status=$?
    if [ $status = "$2" ]; then
        echo "ok link/verdicts/$1"
    else
        echo "not ok link/verdicts/$1: status $status, not $2: $(cat "$1.tenon")"
    fi
}
object main.obj x86_64-pc-windows-msvc <<<$'.text\n.globl main\nmain: jmp x'
returns x3.obj x 3
"$LLVM_BIN/llvm-lib" /out:x3.lib x3.obj
"$LLVM_BIN/llvm-lib" /out:y.lib y.obj
runs alternate-object 5 main.obj x-is-y.obj y.obj
runs alternate-of-archive 5 main.obj x-is-y.obj y.lib
runs archive-before-alternate 3 main.obj x3.lib x-is-y.obj y.obj
runs archive-after-alternate 3 main.obj x-is-y.obj y.obj x3.lib

# ---- Mach-O ----

for arch in x86_64 arm64; do
    object bounds.o $arch-apple-macos13 <<'ROWS'
.globl _a
.data
_a: .quad section$start$__DATA$__none, section$end$__DATA$__none, segment$start$__NONE, segment$end$__NONE
ROWS
    root=_a check bounds-$arch ld64.lld linked bounds.o
done
