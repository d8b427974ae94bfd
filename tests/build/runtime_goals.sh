#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Goals of the top-level Makefile that are given together, and what .ci/run makes of those that it makes.

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

# Stands in for make: does what the case says for one goal; else ci-build says nothing of tests, and ci passes ten.
cat >"$work/make" <<'END'
#!/bin/sh
if [ -f "${0%/*}/does-$1" ]; then . "${0%/*}/does-$1"
elif [ "$1" = ci-build ]; then echo "the build took 7 s"
elif [ "$1" = ci ]; then echo "10 passed, 0 failed"
else echo "make: no goal $1"; exit 2
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
ci "all suites pass" 0 "10 passed, 0 failed" "" ""
ci "something is not built" 1 "10 passed, 1 failed" ci-build "exit 2"
ci "a test fails" 1 "9 passed, 1 failed" ci "echo 9 passed, 1 failed; exit 2"
ci "tests fail without a status" 1 "8 passed, 2 failed" ci "echo 8 passed, 2 failed"
ci "tests fail, and what failed is said again" 1 "9 passed, 1 failed" ci \
    "echo not ok this: why; echo 9 passed, 1 failed"
[ "$(tail -n 3 "$work/said" | head -n 2 | xargs)" = "make ci failed not ok this: why" ] ||
    echo "not ok .ci/run: it does not say again what failed: $(xargs <"$work/said")"
ci "it fails after its tests" 1 "10 passed, 1 failed" ci "echo 10 passed, 0 failed; exit 2"
ci "it fails before its tests" 1 "0 passed, 1 failed" ci "exit 2"
ci "it runs no tests" 1 "0 passed, 1 failed" ci "exit 0"
ci "tests are skipped" 0 "9 passed, 0 failed, 3 skipped" ci "echo 9 passed, 0 failed, 3 skipped"
ci "the last summary counts" 0 "1 passed, 0 failed" ci "echo 5 passed, 5 failed; echo 1 passed, 0 failed"
