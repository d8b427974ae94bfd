# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Mistakes in the collectors, one at a time (support/collector.mutants): with each, one of the tests below must fail.
# The changed file is linked before the archives, so it takes the place of a member of one of them. MUTANTS=WORDS: only
# mistakes whose lines match this regular expression.
#
# time limit: 3600

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}" "${CC:=gcc}" "${MUTANTS:=}"
out=$BUILD/tests/gc/collector_mutants
rm -rf "$out" && mkdir -p "$out" || exit 1
compile="$CC -std=c11 -O1 -w -fPIC -D_GNU_SOURCE -Iinclude -Isrc -Itests/gc/support -Itests/gc/copying"
tests="object/objects heap/heap heap/patterns heap/evacuation heap/limits heap/permanent heap/cards heap/workers
    heap/found_twice threads/threads heap/concurrent heap/concurrent_kinds heap/concurrent_cycles"

for test in $tests; do
    $compile -c "tests/gc/$test.c" -o "$out/${test##*/}.o" || exit 1
done
$compile -c tests/gc/support/support.c -o "$out/support.o" &&
    $compile -c tests/gc/support/cycles.c -o "$out/cycles.o" &&
    "$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -Iinclude -Itests/gc/support -emit-llvm \
        -c tests/gc/programs/barriers.c -o "$out/barriers.bc" &&
    "$BUILD/tenon" compile -O2 "$out/barriers.bc" -o "$out/barriers.o" &&
    $compile -DTN_UNMANAGED tests/gc/programs/barriers.c -o "$out/plain" -lpthread &&
    "$out/plain" >"$out/want" || exit 1

# link [OBJECT...]: all programs, with these objects in place of the archive's members
link() {
    local test
    for test in $tests; do
        "$CC" "$out/${test##*/}.o" "$out/support.o" "$out/cycles.o" "$@" "$out/copying.a" \
            "$BUILD/libtenon.a" -lcmocka -lpthread \
            -o "$out/${test##*/}" || return
    done
    "$CC" -static "$out/barriers.o" "$@" "$out/copying.a" "$BUILD/libtenon.a" \
        -Wl,-u,tn_collector_copying,-u,tn_collector_concurrent \
        -lpthread -o "$out/barriers"
}

# run PROGRAM: with limits of processor time, so that a busy machine finds no mistakes, and of time for one that hangs
run() {
    (ulimit -t 60 && timeout 600 "$out/$1")
}

# passes COLLECTOR PROGRAM: whether the program finds nothing wrong
passes() {
    if [ "$2" = barriers ]; then
        TENON_GC=$1 TENON_GC_VERIFY=1 run "$2" 2>/dev/null | cmp -s - "$out/want" &&
            TENON_GC=$1 TENON_GC_STRESS=1 run "$2" 2>/dev/null | cmp -s - "$out/want"
    else
        TENON_GC=$1 run "$2"
    fi >"$out/got" 2>&1
}

# finder COLLECTOR: the first program that fails
finder() {
    local test
    for test in barriers $tests; do
        passes "$1" "${test##*/}" || { echo "${test##*/}"; return; }
    done
}

mkdir "$out/copying" || exit 1
for file in tests/gc/copying/*.c; do
    $compile -c "$file" -o "$out/copying/$(basename "$file").o" || exit 1
done
ar rc "$out/copying.a" "$out"/copying/*.o && link || exit 1
for collector in generational copy concurrent; do
    found=$(finder $collector 2>/dev/null)
    [ -z "$found" ] || { echo "not ok gc/mutants: nothing is wrong, and $collector fails in $found"; exit 1; }
done

# compile_changed FILE: the objects of out/changed.c in place of this file; those of all its users if it is a header
compile_changed() {
    local source
    rm -rf "$out/changed" && mkdir -p "$out/changed/$(dirname "${1#src/}")" || return
    [[ $1 = *.h ]] || { $compile -c "$out/changed.c" -o "$out/changed/changed.o"; return; }
    cp "$out/changed.c" "$out/changed/${1#src/}" || return
    for source in src/gc/*/*.c tests/gc/copying/*.c; do
        $compile -MM "$source" | grep -qF " $1" || continue
        ${compile/-Isrc/-I$out/changed -Isrc} -c "$source" -o "$out/changed/${source//\//_}.o" || return
    done
}

# try NAME COLLECTOR EXPRESSION
try() {
    local name="gc/mutants $2: $1" file changed= collector=$2 found
    [ "$collector" != both ] || collector=generational
    for file in src/gc/*/*.[ch] tests/gc/copying/*.c; do
        sed "$3" "$file" >"$out/mutant.c"
        cmp -s "$file" "$out/mutant.c" || { changed="$changed $file"; cp "$out/mutant.c" "$out/changed.c"; }
    done
    [ "$(wc -w <<<"$changed")" = 1 ] || { echo "not ok $name: it applies to${changed:- nothing}"; return; }
    compile_changed $changed && link "$out"/changed/*.o || { echo "not ok $name: it does not compile"; return; }
    found=$(finder "$collector" 2>/dev/null)
    if [ -n "$found" ]; then echo "ok $name: found by $found"; else echo "not ok $name: no test finds it"; fi
}

while IFS=$'\t' read -r collector name expression; do
    [[ $collector = \#* || ! "$name $expression" =~ $MUTANTS ]] || try "$name" "$collector" "$expression" </dev/null
done <tests/gc/support/collector.mutants
