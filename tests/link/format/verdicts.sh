#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Objects that ld.lld, lld-link and ld64.lld refuse to link together are refused here, and those that they link are
# linked. Where this is not so on purpose, the row says which of the two it is here, and doc/LINKER.md says why.
#
# time limit: 300

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
    ld64.lld) options="-arch $arch -platform_version macos 13 13 -dylib -u _$root -o linked" ;;
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
