# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# As at the end of tests/image/copies.sh, 60 random sets of packages, in one and in several shards, for one and for
# three targets; and 40 in which stale functions are compiled again.
#
# time limit: 3600

: "${BUILD:=build}" "${CC:=gcc}"
. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tenon=$BUILD/tenon

. tests/image/support/copies.bash

# all_sets FIRST END
all_sets() {
    for ((seed = $1; seed < $2; seed += 4)); do
        random_set $seed
        random_set $((seed + 1)) --shards 5
        random_set $((seed + 2)) --targets 'x86-64;x86-64-v3,clone_all;x86-64-v2'
        random_set $((seed + 3)) --targets 'x86-64;x86-64-v3,clone_all;x86-64-v2' --shards 3 -O1
        seen=$((seen + $(cat "$work"/*.stale | wc -l)))
    done
}

seen=0
all_sets 100 160
again=1
. tests/image/support/copies.bash
all_sets 200 240
some "functions were stale" "$([ $seen -gt 100 ] && echo $seen)"
