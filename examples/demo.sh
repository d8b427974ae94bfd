#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What `make demo` shows: Lua and SQLite from Debian's archives, joined to a main in LLVM bitcode and run by one static
# file; where the time went; whether the outputs are those of the ordinary commands.
#
# Environment: BUILD, LLVM_BIN.

set -u
: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
cd "$(dirname "$0")/.." || exit 1
out=$BUILD/demo
archives=/usr/lib/$(gcc -print-multiarch)
programs=tests/programs
clang=clang-$("$LLVM_BIN/llvm-config" --version | cut -d. -f1)
command -v "$clang" >/dev/null || clang=$LLVM_BIN/clang
mkdir -p "$out"

say() { printf '%s\n' "$@"; }
show() { printf '  $ %s\n' "$*"; }
fail() { say "demo: $*" >&2; exit 1; }

# Runs a command (input and output are the caller's), leaving its wall time in milliseconds in $ms.
timed() {
    local start=$EPOCHREALTIME
    "$@"
    local status=$?
    ms=$(((${EPOCHREALTIME/./} - ${start/./}) / 1000))
    return $status
}

# bitcode NAME FLAG...: what a front end hands over.
bitcode() {
    local name=$1
    shift
    show "$clang" "$@" -O1 -c -emit-llvm "$programs/$name.c" -o "$out/$name.bc"
    "$clang" "$@" -O1 -c -emit-llvm "$programs/$name.c" -o "$out/$name.bc" || fail "clang failed"
}

# compare NAME COMMAND WORD...: runs the words after `tenon run --stats` and the ordinary COMMAND, both with standard
# input from $input, and says whether they agree. Leaves $out/NAME.stats and the times in NAME_tenon, NAME_command.
compare() {
    local name=$1 command=$2
    shift 2
    show tenon run --stats "$@" ${input:+"< $input"}
    timed "$BUILD/tenon" run --stats "$@" <"${input:-/dev/null}" >"$out/$name.tenon" 2>"$out/$name.stats" ||
        fail "tenon failed: $(cat "$out/$name.stats")"
    printf -v "${name}_tenon" %s "$ms"
    timed $command <"${input:-/dev/null}" >"$out/$name.command" || fail "$command failed"
    printf -v "${name}_command" %s "$ms"
    cmp -s "$out/$name.tenon" "$out/$name.command" || fail "the output differs from that of '$command':
$(diff "$out/$name.tenon" "$out/$name.command" | head -5)"
    say "  -> $(wc -l <"$out/$name.tenon") lines of output, the same as of '$command${input:+ < $input}'; the last:" \
        "       $(tail -n 1 "$out/$name.tenon")" ""
}

# stat NAME STAGE [PATTERN]: from the table that --stats printed, the time of a stage, or the number before PATTERN.
stat() {
    local found
    found=$(awk -v stage="$2" -v pattern="${3-}" '
        $1 == stage && pattern == "" { print $2, $3; exit }
        $1 == stage && match($0, "[0-9.]+ " pattern) { print substr($0, RSTART, RLENGTH - length(pattern) - 1); exit }
        $1 == stage && match($0, pattern " [0-9.]+ [KM]B") {
            print substr($0, RSTART + length(pattern) + 1, RLENGTH - length(pattern) - 1)
            exit
        }' "$out/$1.stats")
    [ -n "$found" ] || fail "no '$2 ${3-}' in $out/$1.stats"
    printf %s "$found"
}

row() { printf '  %-44s %14s %14s\n' "$1" "$(stat lua "${@:2}")" "$(stat sqlite "${@:2}")"; }

size=$(du -h --apparent-size "$BUILD/tenon" | cut -f1)
say "" "Tenon is one static file: ${size}B, no LLVM, no linker, no dynamic loader beside it." \
    "It compiles LLVM IR, links it with ordinary archives in memory and runs it." ""

say "1. Lua: a main of 40 lines as bitcode, joined with Debian's liblua5.4.a, steps five planets"
bitcode lua -I/usr/include/lua5.4
compare lua "lua5.4 $programs/nbody.lua" "$out/lua.bc" "$archives/liblua5.4.a" -- $programs/nbody.lua

say "2. SQLite: 100,000 inserts, joins, JSON and full-text search in Debian's libsqlite3.a"
bitcode sqlite
awk -f $programs/orders.awk >"$out/orders.sql"
input=$out/orders.sql compare sqlite "sqlite3 :memory:" "$out/sqlite.bc" "$archives/libsqlite3.a"

say "Where the time went, and what it took"
printf '  %-44s %14s %14s\n' "" "Lua" "SQLite"
row "parse the bitcode" parse
row "optimise it (-O2)" optimise
row "emit machine code" emit
row "create the session" session
row "link, in memory" link
row "  objects taken" link "objects taken"
row "  relocations applied" relocate relocations
row "  code" copy code
row "  read-only data" copy "read-only data"
row "  mappings, whatever the number of objects" publish mappings
row "run the program" run
printf '  %-44s %11s ms %11s ms\n' "all of it, from start to end" "$lua_tenon" "$sqlite_tenon" \
    "the ordinary command on the same input" "$lua_command" "$sqlite_command"

say "" "3. Never a page that is writable and executable: the mappings are looked at around every system call"
${CC:-gcc} -O1 $programs/watch_maps.c -o "$out/watch_maps" || fail "gcc failed"
show watch_maps REPORT tenon run "$out/lua.bc" "$archives/liblua5.4.a" -- $programs/nbody.lua 1000
"$out/watch_maps" "$out/maps" "$BUILD/tenon" run "$out/lua.bc" "$archives/liblua5.4.a" -- $programs/nbody.lua 1000 \
    >/dev/null 2>"$out/watched"
watched=$?
case $watched in
0)
    ! grep '^wx ' "$out/maps" || fail "a mapping was writable and executable"
    say "  -> $(sed -n 's/^looks //p' "$out/maps") looks, none found; where the loaded code lies:" \
        "       $(sed -n 's/^loaded //p' "$out/maps" | tr -s ' ')"
    ;;
125) say "  -> not shown, because processes cannot be watched here: $(head -n 1 "$out/watched")" ;; # some containers
*) fail "the watched run failed: $(cat "$out/watched")" ;;
esac

packages=
[ "$BUILD" = build ] || packages="PKG_CONFIG_PATH=$(realpath "$BUILD")/pkgconfig "
other=
! "$BUILD/tenon" --version | grep -q AArch64 || other=" --triple=aarch64-linux-gnu"
hello_to_ir="$clang -O1 -c -emit-llvm examples/hello/hello.c"
say "" "What to try next" \
    "  $BUILD/tenon run examples/hello/hello.ll" \
    "  $hello_to_ir -o $out/hello.bc && $BUILD/tenon run --stats $out/hello.bc -- you" \
    "  $BUILD/tenon compile --emit=asm$other examples/hello/hello.ll -o -" \
    "  $BUILD/tenon inspect $archives/libz.a" \
    "  ${packages}make -C examples/plugin run    # your own static program, with plugins" \
    "  ${packages}make -C examples/calc run      # one that compiles" ""
