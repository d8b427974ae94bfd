# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random graphs of saved objects (tests/image/save/graphs.c): GRAPHS=FIRST:COUNT, or else a twentieth of the first
# 10,000, a different one each day.
#
# time limit: 7200

: "${BUILD:=build}" "${CC:=gcc}"
count=500 portions=20
today=$(($(date +%s) / 86400))
export GRAPHS=${GRAPHS:-$((today % portions * count + 1)):$count}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$CC" -std=c11 -O1 -w -D_GNU_SOURCE -Iinclude -Isrc -Itests/image/support tests/image/save/graphs.c \
    tests/image/support/graph.c "$BUILD/libtenon.a" -lcmocka -lpthread -o "$work/graphs" || exit 1
if "$work/graphs" >"$work/said" 2>&1; then
    echo "ok graphs $GRAPHS"
else
    echo "not ok graphs $GRAPHS: $(grep -m 3 -v '^\[ *\(RUN\|OK\|=*\)' "$work/said" | tr '\n' ' ')"
fi
