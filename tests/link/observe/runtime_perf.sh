# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# perf finds the names of loaded functions, by the map and by jitdump. tests/link/observe/perf.c checks the formats.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: "${CC:=gcc}"

if ! perf record -q -o "$work/try" true >/dev/null 2>&1; then
    echo "ok perf # SKIP perf record does not work here"
    exit 0
fi

$CC -O1 -Iinclude tests/link/observe/perf/host.c "$BUILD/libtenon.a" -o "$work/host" &&
    $CC -O1 -g -c tests/link/observe/perf/busy.c -o "$work/busy.o" || exit 1

# hot FILE: the function with the most samples
hot() {
    perf report -q -i "$1" --stdio --sort symbol 2>"$work/report.err" | grep -m 1 '%'
}

# stub FILE: what it says of the stub
stub() {
    perf report -q -i "$1" --stdio --sort symbol 2>"$work/report.err" | grep -w 'step@stub'
}

# perf looks for maps in /tmp only.
perf record -q -o "$work/map" "$work/host" map /tmp "$work/busy.o" >"$work/out" 2>&1
some "it ran" "$(grep -E '^[0-9]+$' "$work/out")"
some "perf names a function by the map" "$(hot "$work/map" | grep -w busy)"
some "perf names a lazy function's stub by the map" "$(stub "$work/map")"
pid=$(perf report -i "$work/map" --stdio --sort pid 2>/dev/null | sed -n 's/.*%.* \([0-9]*\):host.*/\1/p' | head -1)
[ -z "$pid" ] || rm -f "/tmp/perf-$pid.map"

perf record -q -k mono -o "$work/dump" "$work/host" jitdump "$work" "$work/busy.o" >"$work/out" 2>&1
perf inject --jit -i "$work/dump" -o "$work/injected" >"$work/inject.out" 2>&1
some "perf names a function by jitdump" "$(hot "$work/injected" | grep -w busy)"
some "perf names a lazy function's stub by jitdump" "$(stub "$work/injected")"
none "perf had nothing to say about it" "$(cat "$work/inject.out")"
some "perf has the code" "$(perf annotate -q -i "$work/injected" --stdio -s busy 2>/dev/null | grep -i imul)"
some "perf has the lines" "$(perf annotate -q -i "$work/injected" --stdio -l -s busy 2>/dev/null |
    grep 'busy\.c:[0-9]')"
