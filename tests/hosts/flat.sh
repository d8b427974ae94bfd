#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# How large a product is that compiles without LLVM: one static file that is linked with musl, stripped, and has a JIT
# compile a function of a flat file.

: "${BUILD:=build}" "${CC:=gcc}"
cd "$(dirname "$0")/../.." || exit 1
out=$BUILD/tests/hosts
mkdir -p "$out"
if [ "$(uname -m)" != x86_64 ]; then
    echo "ok # skip the baseline compiler is for x86-64"
    exit 0
fi

# at_most NAME LIMIT FOUND UNIT
at_most() {
    if [ "${3:-0}" -gt 0 ] && [ "$3" -le "$2" ]; then
        echo "ok $1 ($3 $4, limit $2)"
    else
        echo "not ok $1: ${3:-nothing measured} $4, limit $2"
    fi
}

# program NAME FLAG...
program() {
    local name=$1
    shift
    musl-gcc -O2 -Wall -Wextra -Werror -static -s -Wl,--gc-sections -Iinclude "$@" tests/hosts/flat.c \
        "$BUILD/musl/libtenon.a" -o "$out/$name"
}

text_of() {
    size "$1" | awk 'NR == 2 { print $1 }'
}

cat >"$out/fib.ll" <<'END'
define i32 @fib(i32 %n) {
  %small = icmp slt i32 %n, 2
  br i1 %small, label %end, label %more
more:
  %a = sub i32 %n, 1
  %b = sub i32 %n, 2
  %x = call i32 @fib(i32 %a)
  %y = call i32 @fib(i32 %b)
  %z = add i32 %x, %y
  ret i32 %z
end:
  ret i32 %n
}
END
"$BUILD/tenon" compile -O0 --emit=flat "$out/fib.ll" -o "$out/fib.tnf" && program flat && program flat-not -DAS_IT_IS ||
    exit 1
answer=$("$out/flat" "$out/fib.tnf")
[ "$answer" = 6765 ] && echo "ok it compiles and calls a function" || echo "not ok it compiles and calls: $answer"
at_most "size of a static musl program that compiles" 400000 "$(stat -c %s "$out/flat")" bytes
at_most "text that the compiler adds" 150000 "$(($(text_of "$out/flat") - $(text_of "$out/flat-not")))" bytes
