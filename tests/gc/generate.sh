# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Generated programs (tests/gc/generate) under stress, at each optimisation level in turn: each prints the same as
# without a collector.
#     tests/gc/generate.sh [FIRST [COUNT [LEVELS [KIND]]]]
# LEVELS is a list like "0 1 2 3 baseline left": each program then runs at all of these, the last two of which are level
# 0 by the baseline compiler, and by it and LLVM in turn. Of the kind KIND are most statements.
# Several programs are compiled and run as one, of two modules; if they fail, each by itself.
# Programs at odd levels and by the baseline compiler poll in loops; POLLS says how at all levels.
# With STRESS=0, they run without stress: for TENON_GC=concurrent, of which stress sees nothing.
# TWIN_SANITIZERS is a list of clang's: what is expected comes from ordinary programs under one of them in turn, which
# is an error if they find something, for then the generator is wrong; if programs fail, under each of them.
# With MACHINE=aarch64, all programs run on that machine, the ordinary ones too.

cc_here=${CC:-gcc}
. tests/gc/support/machine.bash
if [ "$MACHINE" = riscv64 ]; then
    echo "ok gc/generate # SKIP libgcc of gcc 12 has no half-precision numbers, and vectors return in memory"
    exit
fi
first=${1:-1} count=${2:-20} levels=${3-} kind=${4-} together=4
out=$BUILD/tests/gc/${FOLDER:-generate}$there
each=(0 1 2 3)
[ -n "$MACHINE" ] || each+=(baseline)
read -ra sanitizers <<<"${TWIN_SANITIZERS:-none}"
mkdir -p "$out"
clang="$LLVM_BIN/clang $target -w -fexceptions -fdefer-ts -Iinclude -Itests/gc/generate"
link=${MACHINE:+$CC -static}
: "${link:=$clang}"

# generate LANGUAGE FIRST COUNT: prints the programs
generate() {
    "$out/generate" "$1" "$2" "$3" "$kind" || { echo "the generator failed" >&2; return 1; }
}

# module STEM C IR FIRST COUNT: makes STEM.bc and the ordinary object STEM.o of the generator's languages C and IR
module() {
    generate "$2" "$4" "$5" >"$1.c" && generate "$3" "$4" "$5" >"$1.ll" &&
        $clang $sanitized -O0 -DTN_UNMANAGED -c "$1.c" -o "$1.o" &&
        $clang -g -O1 -Xclang -disable-llvm-passes -emit-llvm -c "$1.c" -o "$1.c.bc" &&
        "$LLVM_BIN/llvm-link" --suppress-warnings "$1.c.bc" "$1.ll" -o "$1.bc" ||
            { echo "it does not compile"; return 1; }
}

# build STEM FIRST COUNT SANITIZER: makes STEM.want, the expected output, and two modules; or prints what went wrong
build() {
    local sanitized="-fsanitize=$4,undefined -fno-sanitize-recover=undefined"
    [ "$4" != none ] || sanitized=
    module "$1" c ir "$2" "$3" && module "$1.other" other other-ir "$2" "$3" || return
    $clang $sanitized -O0 -c tests/gc/generate/native/native.c -o "$1.native.o" ||
        { echo "it does not compile"; return 1; }
    $link $sanitized "$1.o" "$1.other.o" "$1.native.o" -lpthread -o "$1.plain" || { echo "it does not link"; return 1; }
    ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=halt_on_error=1 timeout $limit $emulate "$1.plain" >"$1.want" 2>"$1.err" ||
        { echo "the plain program fails: $(grep -m 1 -E 'runtime error|SUMMARY' "$1.err")"; return 1; }
}

# differs STEM LEVEL: prints how the program's output differs from the expected one, or nothing.
differs() {
    local modules=("$1.bc" "$1.other.bc") polls=none level=("-O$2") module
    case $2 in
    0) level+=($by_llvm) ;;
    1 | 3) modules=("$1.other.bc" "$1.bc") polls=loops ;;
    baseline) # which leaves functions with debug information to LLVM
        for module in "${modules[@]}"; do "$LLVM_BIN/opt" --strip-debug -passes=verify "$module" -o "$module.bare"; done
        modules=("${modules[@]/%/.bare}") polls=loops level=(-O0)
        ;;
    left) # every second function is LLVM's, because of an integer that the baseline compiler does not cover
        for module in "${modules[@]}"; do
            "$LLVM_BIN/opt" --strip-debug -passes=verify -S "$module" -o - | awk '/^define / { is_left = ++n % 2 }
                is_left && /^  / { print "  %tn.left = add i129 0, 1"; is_left = 0 } { print }' |
                "$LLVM_BIN/llvm-as" -o "$module.left"
        done
        modules=("${modules[@]/%/.left}") polls=loops level=(-O0)
        ;;
    esac
    TENON_GC_STRESS=${STRESS-1} TENON_GC_VERIFY=1 timeout $limit $run "${level[@]}" \
        "--polls=${POLLS:-$polls}" "${modules[@]}" "$out/native.o" \
        >"$1.got" 2>"$1.err" ||
        { echo "${level[*]}: status $? $(head -1 "$1.err")"; return; }
    cmp -s "$1.want" "$1.got" || echo "${level[*]}: $(head -1 "$1.got"), not $(head -1 "$1.want")"
}

# try FIRST COUNT [SANITIZER]: prints what is wrong with these programs at their levels
try() {
    local stem=$out/$1.$2 level wrong
    wrong=$(build "$stem" "$1" "$2" "${3:-${sanitizers[$1 / together % ${#sanitizers[@]}]}}" || exit
        for level in ${levels:-${each[$1 / together % ${#each[@]}]}}; do
            differs "$stem" "$level"
        done)
    [ -n "$wrong" ] || rm -f "$stem".*
    echo "$wrong"
}

# try_each FIRST COUNT: prints a line for each program that fails
try_each() {
    local seed sanitizer wrong
    for seed in $(seq "$1" $(($1 + $2 - 1))); do
        for sanitizer in "${sanitizers[@]}"; do
            wrong=$(try "$seed" 1 "$sanitizer")
            [ -z "$wrong" ] || echo "not ok gc/generate: seed $seed $wrong"
        done
    done
}

"$cc_here" -O1 -Wall -Wextra -Wno-missing-field-initializers tests/gc/generate/*.c -o "$out/generate" &&
    "$CC" -O1 -Wall -Wextra -c tests/gc/generate/native/native.c -o "$out/native.o" || exit 1
failed=0
for ((seed = first; seed < first + count; seed += together)); do
    portion=$((first + count - seed < together ? first + count - seed : together))
    wrong=$(try $seed $portion)
    [ -n "$wrong" ] || continue
    failed=$((failed + 1))
    alone=$(try_each $seed $portion)
    echo "${alone:-not ok gc/generate: seeds $seed to $((seed + portion - 1)) together: $wrong}"
done
[ "$failed" != 0 ] || echo "ok gc/generate: programs $first to $((first + count - 1))"
