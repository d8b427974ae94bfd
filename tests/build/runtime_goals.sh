#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Goals of the top-level Makefile that are given together.

cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Stands in for the make that builds: notes when two of them run at the same time.
cat >"$work/build" <<'END'
#!/bin/sh
mkdir "${0%/*}/lock" || echo overlap >>"${0%/*}/log"
echo "built $1" >>"${0%/*}/log"
sleep 0.3
rmdir "${0%/*}/lock" 2>/dev/null
END
chmod +x "$work/build"
MAKEFLAGS= make -s -j3 setup=true make_in="$work/build" BUILD="$work" all "$work/libtenon.a" "$work/tenon" >"$work/said" 2>&1
if [ "$(grep -c '^built' "$work/log")" = 3 ] && ! grep -q overlap "$work/log"; then
    echo "ok goals that are given together are made one after the other"
else
    echo "not ok goals that are given together are made one after the other: $(xargs <"$work/log")"
fi
