#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Goals of the top-level Makefile that are given together, and the parts of .ci/run.

cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
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
make -s -j3 setup=true make_in="$work/build" BUILD="$work" all "$work/libtenon.a" "$work/tenon" \
    >"$work/said" 2>&1
if [ "$(grep -c '^built' "$work/log")" = 3 ] && ! grep -q overlap "$work/log"; then
    echo "ok goals that are given together are made one after the other"
else
    echo "not ok goals that are given together are made one after the other: $(xargs <"$work/log")"
fi

# Stands in for make: does what the case says for one goal; else lint has no summary, and each other goal passes ten
# tests.
cat >"$work/make" <<'END'
#!/bin/sh
if [ -f "${0%/*}/does-$1" ]; then . "${0%/*}/does-$1"
elif [ "$1" = lint ]; then echo "lint: 7 files, 0 findings"
else echo "10 passed, 0 failed"
fi
END
chmod +x "$work/make"

ci() { # NAME STATUS LAST-LINE PART WHAT-IT-DOES
    local status last
    rm -f "$work"/does-*
    [ -z "$4" ] || echo "$5" >"$work/does-$4"
    PATH=$work:$PATH .ci/run >"$work/said" 2>&1
    status=$?
    last=$(tail -n 1 "$work/said")
    if [ "$status $last" = "$2 $3" ]; then
        echo "ok .ci/run: $1"
    else
        echo "not ok .ci/run: $1: status $status, '$last'"
    fi
}
ci "all parts pass" 0 "40 passed, 0 failed" "" ""
ci "lint finds something" 1 "40 passed, 1 failed" lint "exit 2"
for part in test test-qemu asan models; do
    ci "a test of $part fails" 1 "39 passed, 1 failed" $part "echo 9 passed, 1 failed; exit 2"
    ci "tests of $part fail without a status" 1 "38 passed, 2 failed" $part "echo 8 passed, 2 failed"
    ci "$part fails after its tests" 1 "40 passed, 1 failed" $part "echo 10 passed, 0 failed; exit 2"
    ci "$part fails before its tests" 1 "30 passed, 1 failed" $part "exit 2"
    ci "$part runs no tests" 1 "30 passed, 1 failed" $part "exit 0"
    ci "tests of $part are skipped" 0 "39 passed, 0 failed, 3 skipped" $part "echo 9 passed, 0 failed, 3 skipped"
    ci "the last summary of $part counts" 0 "31 passed, 0 failed" $part \
        "echo 5 passed, 5 failed; echo 1 passed, 0 failed"
done
