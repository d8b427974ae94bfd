# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Collected C: each program prints the same as the program that the C compiler makes from the same source, without
# optimisation and with the default one, with and without everything moving at each safepoint; with -O3 beside a
# concurrent collector; lazily with -O1; by the baseline compiler, with everything moving, and lazily beside a
# concurrent collector. So do static programs that `tenon compile` and a linker make, with the copying collector too.
# slow/programs.sh has each level with each of the first two, and larger inputs.
#
# time limit: 1800

. tests/gc/support/machine.bash
out=$BUILD/tests/gc/programs$there
mkdir -p "$out"

# same NAME COMMAND...: standard output is that of the plain program
same() {
    local name=$1
    shift
    if ! timeout "$limit" "$@" >"$out/got" 2>"$out/err"; then
        echo "not ok gc/programs $name: $(head -1 "$out/err")"
    elif cmp -s "$out/want" "$out/got"; then
        echo "ok gc/programs $name"
    else
        echo "not ok gc/programs $name: $(diff "$out/want" "$out/got" | head -1)"
    fi
}

# check SOURCE ARGUMENT...
check() {
    local source=$1 name=${1##*/}
    name=${name%.c}
    shift
    case ${MACHINE:+$name} in
    signatures | structs)
        echo "ok gc/programs $name # SKIP clang passes structs of references as integers there (doc/IR.md, pun)"
        return
        ;;
    esac
    "$CC" -O1 $static -DTN_UNMANAGED -Iinclude -Itests/gc/support "$source" -o "$out/$name.plain" -lpthread &&
        $clang -Itests/gc/support -c "$source" -o "$out/$name.bc" ||
        { echo "not ok gc/programs $name: it does not compile"; return; }
    timeout "$limit" $emulate "$out/$name.plain" "$@" >"$out/want" 2>/dev/null ||
        { echo "not ok gc/programs $name: the plain program fails with status $?"; return; }
    for level in $levels; do
        same "$name -O$level" $run -O$level $by_llvm "$out/$name.bc" -- "$@"
        same "$name -O$level, stress" env TENON_GC_STRESS=1 TENON_GC_VERIFY=1 $run -O$level $by_llvm \
            "$out/$name.bc" -- "$@"
    done
    same "$name, concurrent" env TENON_GC=concurrent TENON_GC_VERIFY=1 $run -O3 "$out/$name.bc" -- "$@"
    [ -z "$MACHINE" ] || return
    same "$name, lazy, stress" env TENON_GC_STRESS=1 TENON_GC_VERIFY=1 $run -O1 --lazy "$out/$name.bc" \
        -- "$@"
    same "$name, baseline, stress" env TENON_GC_STRESS=1 TENON_GC_VERIFY=1 $run -O0 "$out/$name.bc" \
        -- "$@"
    same "$name, baseline, lazy, concurrent" env TENON_GC=concurrent TENON_GC_VERIFY=1 $run -O0 --lazy \
        "$out/$name.bc" -- "$@"
    for how in "-O2" "-O0 --baseline"; do
        "$BUILD/tenon" compile $how "$out/$name.bc" -o "$out/$name.o" &&
            "$CC" -static "$out/$name.o" "$BUILD/tests/gc/copying.o" "$BUILD/libtenon.a" -lpthread \
                -o "$out/$name.static" ||
            echo "not ok gc/programs $name: it does not link"
        same "$name, static $how" env TENON_GC_STRESS=1 "$out/$name.static" "$@"
    done
    same "$name, static, baseline, copying" env TENON_GC=copy TENON_GC_STRESS=1 "$out/$name.static" "$@"
}

levels=${all_levels:-0 2} queens=${queens:-2} pairs=${pairs:-150} arrays=${arrays:-8}
check bench/gc/bt.c 5
check bench/gc/gcbench.c 3 3
check bench/gc/lru.c 20 1000
check bench/gc/young.c 0
check bench/gc/latency.c 1 1
check bench/gc/splay.c 20 40
check bench/gc/bdd.c "$queens"
check bench/gc/strings.c 20 100
check bench/gc/ephemerons.c 20 "$pairs"
check bench/gc/rewrite.c 40 400
check bench/gc/arrays.c 1 "$arrays"
for source in tests/gc/programs/*.c; do
    check "$source"
done

[ -z "$MACHINE" ] || exit 0

# A million frames, ten million nodes: without stress, which would walk all of them each time.
timeout "$limit" "$out/deep.plain" 1000000 10000000 >"$out/want" ||
    echo "not ok gc/programs deep, large: the plain program fails with status $?"
same "deep, large" $run -O2 "$out/deep.bc" -- 1000000 10000000

# Collections where memory is full, not at each safepoint: only then is the quick side of allocations taken.
timeout "$limit" "$out/omitted.plain" 5000 >"$out/want" ||
    echo "not ok gc/programs omitted, many: the plain program fails with status $?"
same "omitted, many" env TENON_GC_VERIFY=1 $run -O2 "$out/omitted.bc" -- 5000
