# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Binary trees as deep as in benchmarks, whose node counts are known; and a million frames and ten million nodes, plain
# and with the heap verified after each collection.
#
# time limit: 1800

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
out=$BUILD/tests/gc/large
mkdir -p "$out"

# says NAME COMMAND...: what the command prints is in $out/want
says() {
    local name=$1
    shift
    if timeout 900 "$@" >"$out/got" 2>"$out/err" && cmp -s "$out/want" "$out/got"; then
        echo "ok gc/large $name"
    else
        echo "not ok gc/large $name: $(head -1 "$out/err") $(diff "$out/want" "$out/got" | head -1)"
    fi
}

for program in bench/gc/bt.c tests/gc/programs/deep.c; do
    "$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -Iinclude -Itests/gc/support -emit-llvm -c $program \
        -o "$out/$(basename $program .c).bc" || exit 1
done

trees() { echo $((2 ** ($1 + 1) - 1)); }
{
    printf 'stretch tree of depth 22\t check: %d\n' "$(trees 22)"
    for depth in 4 6 8 10 12 14 16 18 20; do
        count=$((2 ** (21 - depth + 4)))
        printf '%d\t trees of depth %d\t check: %d\n' $count $depth $((count * $(trees $depth)))
    done
    printf 'long lived tree of depth 21\t check: %d\n' "$(trees 21)"
} >"$out/want"
says "bt 21" "$BUILD/tenon" run -O2 "$out/bt.bc" -- 21

# The sum from 0 to a million, the sum below ten million, and 1 for each frame with an odd depth.
echo $((1000000 * 1000001 / 2 + 10000000 * 9999999 / 2 + 500000)) >"$out/want"
says deep "$BUILD/tenon" run -O2 "$out/deep.bc" -- 1000000 10000000
says "deep, verified" env TENON_GC_VERIFY=1 "$BUILD/tenon" run -O2 "$out/deep.bc" -- 1000000 10000000
