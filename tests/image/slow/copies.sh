# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# As at the end of tests/image/copies.sh, 60 random sets of packages, in one and in several shards, for one and for
# three targets.
#
# time limit: 3600

: "${BUILD:=build}" "${CC:=gcc}"
. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tenon=$BUILD/tenon

. tests/image/support/copies.bash

seen=0
for ((seed = 100; seed < 160; seed += 4)); do
    random_set $seed
    random_set $((seed + 1)) --shards 5
    random_set $((seed + 2)) --targets 'x86-64;x86-64-v3,clone_all;x86-64-v2'
    random_set $((seed + 3)) --targets 'x86-64;x86-64-v3,clone_all;x86-64-v2' --shards 3 -O1
    seen=$((seen + $(cat "$work"/*.stale | wc -l)))
done
some "functions were stale" "$([ $seen -gt 100 ] && echo $seen)"
