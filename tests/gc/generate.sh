# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Generated programs (tests/gc/generate) under stress, at every level in turn: each prints what the plain C compiler's program prints.
#     tests/gc/generate.sh [FIRST [COUNT]]

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}" "${CC:=gcc}"
first=${1:-1} count=${2:-16}
out=$BUILD/tests/gc/generate
mkdir -p "$out"

# differs SEED LEVEL: says how the program's output is not what it should be, or nothing.
differs() {
    local stem=$out/$1
    "$out/generate" "$1" >"$stem.c" || { echo "the generator failed"; return; }
    "$CC" -w -O0 -DTN_UNMANAGED -Iinclude -Itests/gc/generate "$stem.c" -o "$stem.plain" &&
        "$LLVM_BIN/clang" -w -O1 -Xclang -disable-llvm-passes -Iinclude -Itests/gc/generate -emit-llvm -c "$stem.c" \
            -o "$stem.bc" || { echo "it does not compile"; return; }
    timeout 60 "$stem.plain" >"$stem.want" || { echo "the plain program fails"; return; }
    TENON_GC_STRESS=1 TENON_GC_VERIFY=1 timeout 60 "$BUILD/tenon" run "-O$2" "$stem.bc" >"$stem.got" 2>"$stem.err" ||
        { echo "status $? $(head -1 "$stem.err")"; return; }
    cmp -s "$stem.want" "$stem.got" || echo "$(head -1 "$stem.got"), not $(head -1 "$stem.want")"
}

"$CC" -O1 -Wall -Wextra tests/gc/generate/generate.c -o "$out/generate" || exit 1
failed=0
for seed in $(seq "$first" $((first + count - 1))); do
    level=$((seed % 4))
    wrong=$(differs "$seed" $level 2>&1)
    if [ -n "$wrong" ]; then
        echo "not ok gc/generate: seed $seed -O$level: $wrong"
        failed=$((failed + 1))
    else
        rm -f "$out/$seed".*
    fi
done
[ "$failed" != 0 ] || echo "ok gc/generate: programs $first to $((first + count - 1))"
