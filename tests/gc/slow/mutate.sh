# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Removes every root, relocation, word of a variable and barrier of some programs (support/mutate.awk), one at a time:
# under stress, with the heap verified, each removal must make the program fail.
#
# time limit: 3600

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}" "${CC:=gcc}"
out=$BUILD/tests/gc/mutate zeroing=
mkdir -p "$out"

# unnoticed OBJECT ARGUMENT...: true if it runs without failing
unnoticed() {
    (TENON_GC_STRESS=1 TENON_GC_VERIFY=1 timeout 60 "$BUILD/tenon" run "$@" >"$out/got") 2>/dev/null &&
        cmp -s "$out/want" "$out/got"
}

# survivors ARGUMENT...: for the module in whole.ll, a line for each mutant that does not fail
survivors() {
    local n=0 mutant
    while read -r mutant; do
        awk -f tests/gc/support/mutate.awk -v zeroing="$zeroing" -v wanted=$n "$out/whole.ll" >"$out/mutant.ll"
        if "$BUILD/tenon" compile -O2 --passes= "$out/mutant.ll" -o "$out/mutant.o"; then
            if unnoticed "$out/mutant.o" -- "$@"; then echo "$n: $mutant"; fi
        else
            echo "$n: $mutant: it does not compile"
        fi
        n=$((n + 1))
    done <"$out/mutants"
}

# mutate NAME LEVEL ARGUMENT...: the module in whole.bc prints what is in `want`, and none of its mutants does
mutate() {
    local name="gc/mutate $1" level=$2 total
    shift 2
    "$BUILD/tenon" compile "-O$level" --emit llvm "$out/whole.bc" -o "$out/whole.ll" &&
        "$BUILD/tenon" compile -O2 --passes= "$out/whole.ll" -o "$out/whole.o" ||
            { echo "not ok $name: it does not compile"; return; }
    if ! unnoticed "$out/whole.o" -- "$@"; then echo "not ok $name: nothing is missing, and it is noticed"; fi
    awk -f tests/gc/support/mutate.awk -v zeroing="$zeroing" "$out/whole.ll" >"$out/mutants"
    survivors "$@" >"$out/survivors" 2>/dev/null
    total=$(wc -l <"$out/mutants")
    if [ -s "$out/survivors" ] || [ "$total" -lt 20 ]; then
        echo "not ok $name: of $total mutants these are not noticed: $(tr '\n' ',' <"$out/survivors")"
    else
        echo "ok $name: $total mutants"
    fi
}

clang="$LLVM_BIN/clang -O1 -Xclang -disable-llvm-passes -Iinclude -Itests/gc/support -emit-llvm -c"

# link SOURCE IR: makes whole.bc of both
link() {
    $clang "$1" -o "$out/c.bc" && "$LLVM_BIN/llvm-link" --suppress-warnings "$out/c.bc" "$2" -o "$out/whole.bc"
}

# check SOURCE ARGUMENT...: what the C compiler makes of it prints is right
check() {
    local source=$1
    shift
    if "$CC" -O1 -DTN_UNMANAGED -Iinclude -Itests/gc/support "$source" -o "$out/plain" -lpthread &&
        "$out/plain" "$@" >"$out/want" 2>/dev/null &&
        $clang "$source" -o "$out/whole.bc"; then
        mutate "${source##*/}" 2 "$@"
    else
        echo "not ok gc/mutate $source: it does not compile"
    fi
}

check tests/gc/programs/corners.c
check tests/gc/programs/barriers.c
check tests/gc/programs/structs.c

# References that no plain variable holds, where each function says itself whether all is well.
link tests/gc/values/values.c tests/gc/values/values.ll &&
    sed -n 's/^    X(\(.*\)).*/\1 ok/p' tests/gc/values/values.c >"$out/want" && mutate values 2

# Variables in stack memory: without optimisation there are some.
link tests/gc/stack/main.c tests/gc/stack/memory.ll && "$BUILD/tenon" run -O0 "$out/whole.bc" >"$out/want" &&
    mutate stack 0

# Such variables that safepoints find before anything is stored there.
link tests/gc/stack/zeroed.c tests/gc/stack/zeroed.ll && "$BUILD/tenon" run -O0 "$out/whole.bc" >"$out/want" &&
    zeroing=1 mutate zeroed 0
