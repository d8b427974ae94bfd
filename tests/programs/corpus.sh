#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The sources of Lua, SQLite, zlib and zstd as bitcode, without optimisation and as tenon optimises by default; Lua at
# each level: each program prints what clang makes of the same bitcode. An analysis that a pass needs and nobody
# registered is a crash here. Level 0 is LLVM's; baseline/programs.sh has the baseline compiler's. slow/corpus.sh is the
# same, each program at each level.
#
# time limit: 1800

. "$(dirname "${BASH_SOURCE[0]}")/programs.bash"
lua_levels=${all_levels:-0 1 2 3} levels=${all_levels:-0 2}
echo 1..$(($(wc -w <<<"$lua_levels") + 2 * $(wc -w <<<"$levels")))

# each_level NAME LEVELS ARGUMENT...: standard input is the file $input
each_level() {
    local name=$1 levels=$2 level
    shift 2
    record "$out/$name.plain" "$bitcode/$name.plain" "$@" <"$input"
    for level in $levels; do
        record "$out/$name.$level" "$BUILD/tenon" run -O"$level" --no-baseline "$bitcode/$name.bc" -- "$@" <"$input"
        same "programs/corpus/$name -O$level" "$out/$name.plain" "$out/$name.$level"
    done
}

input=/dev/null
each_level lua "$lua_levels" $here/strings.lua
each_level compress "$levels" 1
input=$out/orders.sql
awk -v purchases=5000 -f $here/orders.awk >"$input"
each_level sqlite "$levels"
