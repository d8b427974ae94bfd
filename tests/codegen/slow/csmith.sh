# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random C programs of csmith (X. Yang et al., "Finding and understanding bugs in C compilers", PLDI 2011), at each
# optimisation level: each prints the same as clang's own build. SEEDS=FIRST:COUNT, or else 300 programs, others each
# day. Programs that do not end well within seconds are left out, and others take their place: csmith makes loops
# without end too, which compilers may turn into anything.
#
# time limit: 7200

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}" "${SEEDS:=$(($(date +%s) / 86400 * 1000)):300}"
[[ $SEEDS =~ ^[0-9]+:[1-9][0-9]*$ ]] || { echo "not ok codegen/csmith: SEEDS=$SEEDS is no FIRST:COUNT"; exit 1; }
out=$BUILD/tests/codegen/csmith
clang="$LLVM_BIN/clang -w -I/usr/include/csmith"
mkdir -p "$out"
. tests/records.bash

# program SEED: makes $out/SEED.bc, and the record of the ordinary program; not if that does not end well
program() {
    local stem=$out/$1
    (cd "$out" && csmith --seed "$1" --max-funcs 6 --max-block-depth 4) >"$stem.c" &&
        $clang -O1 "$stem.c" -o "$stem.plain" && record "$stem.plain" timeout 5 "$stem.plain" &&
        [ "$(cat "$stem.plain.status")" = 0 ] &&
        $clang -O1 -Xclang -disable-llvm-passes -emit-llvm -c "$stem.c" -o "$stem.bc"
}

seed=${SEEDS%:*} done=0 count=${SEEDS#*:} last=$((seed + 2 * count))
for (( ; done < count && seed < last; seed++)); do
    program "$seed" || { rm -f "$out/$seed".*; continue; }
    done=$((done + 1)) bad=
    for level in 0 1 2 3; do
        record "$out/$seed.$level" timeout 120 "$BUILD/tenon" run -O$level "$out/$seed.bc"
        verdict=$(same "codegen/csmith $seed -O$level" "$out/$seed.plain" "$out/$seed.$level")
        [ "${verdict%% *}" = ok ] || { echo "$verdict"; bad=1; }
    done
    [ "$bad" ] || { echo "ok codegen/csmith $seed"; rm -f "$out/$seed".*; }
done
[ $done = "$count" ] || echo "not ok codegen/csmith: only $done of $count programs end well within 5 s"
