# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Generated programs (tests/modes/generate) in every mode: SEEDS=FIRST:COUNT, or else the first 2,000.
# A program that fails stays in $BUILD/tests/modes/generated, as SEED.case and SEED.
#
# time limit: 36000

. "$(dirname "$0")/../modes.bash"
: "${SEEDS:=1:2000}"
[[ $SEEDS =~ ^[0-9]+:[1-9][0-9]*$ ]] || { echo "not ok modes/generate: SEEDS=$SEEDS is no FIRST:COUNT"; exit 1; }
first=${SEEDS%:*} count=${SEEDS#*:}
out=$BUILD/tests/modes/generated
mkdir -p "$out"
${CC:-gcc} -O1 -Wall -Wextra tests/modes/generate/generate.c -o "$out/generate" || exit 1

# try SEED: prints what is wrong with this program
try() {
    local stem=$out/$1 wrong
    "$out/generate" "$1" >"$stem.case" || { echo "not ok modes/generate: seed $1: the generator failed"; return; }
    wrong=$(LLVM_BIN=$LLVM_BIN tests/modes/prepare "$stem.case" "$stem" "$BUILD/tests/modes/library" 2>&1) ||
        { echo "not ok modes/generate: seed $1: ${wrong%%$'\n'*}"; return; }
    wrong=$(check_case "$stem" $(modes_by run host library exe shared image replaceable package stale) |
        grep -v '^ok ')
    [ -n "$wrong" ] || { rm -rf "$stem" "$stem.case"; return; }
    echo "$wrong"
}

failed=0
for ((seed = first; seed < first + count; seed++)); do
    wrong=$(try $seed)
    [ -n "$wrong" ] || continue
    failed=$((failed + 1))
    echo "$wrong"
done
[ "$failed" != 0 ] || echo "ok modes/generate: programs $first to $((first + count - 1))"
