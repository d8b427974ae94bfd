# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random C programs of csmith (X. Yang et al., "Finding and understanding bugs in C compilers", PLDI 2011), as clang
# writes them without optimisation and after it: by the baseline compiler, each prints what clang's own build prints.
# Programs that do not end well within seconds are left out, and others take their place.

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
clang="$LLVM_BIN/clang -w -I/usr/include/csmith"
. tests/records.bash

# check_csmith OUT FIRST COUNT: so many programs, from that seed on
check_csmith() {
    local out=$1 seed=$2 count=$3 done=0 last=$(($2 + 2 * $3)) level bad stem verdict
    mkdir -p "$out" || exit 1
    for (( ; done < count && seed < last; seed++)); do
        stem=$out/$seed
        { (cd "$out" && csmith --seed "$seed" --max-funcs 6 --max-block-depth 4) >"$stem.c" &&
            $clang -O1 "$stem.c" -o "$stem.plain" && record "$stem.plain" timeout 5 "$stem.plain" &&
            [ "$(cat "$stem.plain.status")" = 0 ]; } || { rm -f "$stem".*; continue; }
        done=$((done + 1)) bad=
        for level in 0 2; do
            $clang -O$level -emit-llvm -c "$stem.c" -o "$stem.$level.bc" || exit 1
            record "$stem.$level" timeout 120 "$BUILD/tenon" run -O0 "$stem.$level.bc"
            verdict=$(same "baseline/csmith $seed, IR of -O$level" "$stem.plain" "$stem.$level")
            [ "${verdict%% *}" = ok ] || { echo "$verdict"; bad=1; }
        done
        [ "$bad" ] || { echo "ok baseline/csmith $seed"; rm -f "$stem".*; }
    done
    [ $done = "$count" ] || echo "not ok baseline/csmith: only $done of $count programs end well within 5 s"
}
