#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Lua, zlib with zstd, and SQLite: by the baseline compiler they print what clang makes of the same bitcode. Nearly all
# of their functions are covered.

: "${BUILD:=build}"
. tests/records.bash
out=$BUILD/tests/baseline/programs
bitcode=$BUILD/tests/programs/bitcode
mkdir -p "$out"

# check NAME PERMILLE HOW -- ARGUMENT...: so many of a thousand functions are covered at least. Input is $input.
check() {
    local name=$1 least=$2 how=$3 counts=()
    shift 4
    record "$out/$name.plain" "$bitcode/$name.plain" "$@" <"${input:-/dev/null}"
    # shellcheck disable=SC2086
    record "$out/$name" "$BUILD/tenon" run -O0 $how "$bitcode/$name.bc" -- "$@" <"${input:-/dev/null}"
    same "baseline/$name $how" "$out/$name.plain" "$out/$name"
    [ -z "$how" ] || return 0
    read -ra counts < <("$BUILD/tenon" compile -O0 --baseline --stats "$bitcode/$name.bc" -o "$out/$name.o" 2>&1 |
        sed -n 's/.*baseline .* ms  *\([0-9]*\) functions*; \([0-9]*\) left to LLVM/\1 \2/p')
    if [ $((counts[0] * 1000)) -ge $(((counts[0] + counts[1]) * least)) ]; then
        echo "ok baseline/$name: ${counts[0]} functions, ${counts[1]} left to LLVM"
    else
        echo "not ok baseline/$name: only ${counts[0]} functions, ${counts[1]} left to LLVM"
    fi
}

for how in "" "--lazy"; do
    check lua 998 "$how" -- tests/programs/strings.lua
    check compress 970 "$how" --
    awk -f tests/programs/orders.awk >"$out/orders.sql"
    input=$out/orders.sql check sqlite 999 "$how" --
done
