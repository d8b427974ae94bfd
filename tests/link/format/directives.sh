#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The linker directives of COFF objects (.drectve), against lld-link: whatever it takes from an object, by the list of
# options that it prints itself, is done or ignored here, or is in `refused`; what it does not take is refused, too, or
# is in `besides`. So the list in src/link/format/coff/directives.c is complete.

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
out=$BUILD/tests/link/format/directives
lld=$LLVM_BIN/lld-link
mkdir -p "$out"
if [ ! -x "$lld" ]; then
    echo "ok link/directives # SKIP no lld-link"
    exit
fi

# Those that lld-link's help does not mention, those of Microsoft's documentation of #pragma comment(linker, ...), and
# options that no object may have, so that the test can fail.
more="editandcontinue guardsym throwingnew inferasanlibs inferasanlibsno disallowlib failifmismatch section merge
    manifestdependency defaultlib export include out dll base nothing nologo verbose"
# What lld-link takes and is refused by name.
refused=" section "
# What compilers of Microsoft write, and lld-link does not take; it is about the file that a linker would write.
besides=" debug heap ignore incremental inferasanlibsno manifestuac nologo opt verbose "
# Only for ARM64EC, which is refused.
not_here=" arm64xsameaddress "

# An object with a directive: one with room for it, of which the parts before and behind the room are kept.
room=48
printf '.text\n.globl f\nf: ret\n.section .drectve,"yn"\n.ascii "/%*s"\n' $room @ |
    "$LLVM_BIN/llvm-mc" -filetype=obj -triple x86_64-pc-windows-msvc -o "$out/empty.obj"
at=$(LC_ALL=C grep -abo "/ *@" "$out/empty.obj" | cut -d: -f1)
head -c $((at + 1)) "$out/empty.obj" >"$out/before"
tail -c +$((at + 2 + room)) "$out/empty.obj" >"$out/behind"

object() { # DIRECTIVE
    { cat "$out/before" && printf "%-${room}s" "$1" && cat "$out/behind"; } >"$out/object.obj"
}

# lld-link takes the directive with a value or without one.
is_one_for_lld() { # NAME
    local directive
    for directive in "$1" "$1:f" "$1:f=f" "$1:f,1"; do
        object "$directive"
        "$lld" /dll /noentry "/out:$out/object.dll" "$out/object.obj" >"$out/log" 2>&1 && return
        grep -q -e 'not allowed in .drectve' -e 'unknown argument' "$out/log" || return 0
    done
    return 1
}

# done or ignored, refused by name, or unknown.
what_we_do() { # NAME
    local directive
    for directive in "$1" "$1:f" "$1:f=f" "$1:f,1" "$1:1" "$1:console"; do
        object "$directive"
        "$BUILD/tenon" inspect "$out/object.obj" >"$out/log" 2>&1 && echo "done" && return
        grep -q "directive /$directive is not supported" "$out/log" && echo refused && return
        grep -q "argument of the linker directive /$directive makes no sense" "$out/log" || break
    done
    echo failed
}

count=0
# shellcheck disable=SC2086
for name in $({ "$lld" '/?' | sed -n 's/^  [-/]*\([A-Za-z][A-Za-z0-9-]*\).*/\1/p'; printf '%s\n' $more; } |
    tr "[:upper:]" "[:lower:]" | sort -u); do
    [[ $not_here != *" $name "* ]] || continue
    wanted=refused
    if is_one_for_lld "$name"; then
        count=$((count + 1))
        [[ $refused == *" $name "* ]] || wanted=done
    elif [[ $besides == *" $name "* ]]; then
        wanted=done
    fi
    is=$(what_we_do "$name")
    [ "$is" = $wanted ] && continue
    echo "not ok link/directives, $name: $is, not $wanted"
done
if [ $count -ge 12 ]; then
    echo "ok link/directives: $count of lld-link's"
else
    echo "not ok link/directives: lld-link takes only $count"
fi
