# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# References in stack memory whose type does not show them (tests/gc/stack), at each optimisation level, with and
# without polls, under stress.

. tests/gc/support/machine.bash
out=$BUILD/tests/gc/stack$there
mkdir -p "$out"
$clang -fexceptions -c tests/gc/stack/main.c -o "$out/main.bc" &&
    "$LLVM_BIN/llvm-link" --suppress-warnings "$out/main.bc" tests/gc/stack/memory.ll -o "$out/whole.bc" || exit 1

# Each function's result is the same; by_value adds up more.
sed -n 's/^    X(\([a-z_]*\)).*/\1 235/p' tests/gc/stack/main.c >"$out/want"
echo "by_value 2808" >>"$out/want"

# check NAME FILE OPTION...
check() {
    local name=$1
    shift
    if ! TENON_GC_STRESS=1 TENON_GC_VERIFY=1 timeout "$limit" $run "$@" >"$out/got" 2>"$out/err"; then
        echo "not ok gc/stack $name: $(head -1 "$out/err")"
    elif cmp -s "$out/want" "$out/got"; then
        echo "ok gc/stack $name"
    else
        echo "not ok gc/stack $name: $(diff "$out/want" "$out/got" | tr '\n' ' ')"
    fi
}

for level in 0 1 2 3; do
    check "-O$level" -O$level "$out/whole.bc"
    check "-O$level, polls" -O$level --polls=all "$out/whole.bc"
    check "-O$level, two modules" -O$level "$out/main.bc" tests/gc/stack/memory.ll
    [ -n "$MACHINE" ] || check "-O$level, lazy" -O$level --lazy "$out/main.bc" tests/gc/stack/memory.ll
done
