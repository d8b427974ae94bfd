# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random graphs of saved objects (tests/image/save/graphs.c): GRAPHS=FIRST:COUNT, or else a twentieth of the first
# 10,000, a different one each day.
#
# time limit: 7200

: "${BUILD:=build}"
count=500 portions=20
today=$(($(date +%s) / 86400))
export GRAPHS=${GRAPHS:-$((today % portions * count + 1)):$count}
said=$(mktemp)
trap 'rm -f "$said"' EXIT
if "$BUILD/tests/image/save/graphs" >"$said" 2>&1; then
    echo "ok graphs $GRAPHS"
else
    echo "not ok graphs $GRAPHS: $(grep -m 3 -v '^\[ *\(RUN\|OK\|=*\)' "$said" | tr '\n' ' ')"
fi
