# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# For scripts that check a model with spin: `model` is its file. Works in a folder of its own.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# check FLAGS...: prints what spin found out.
check() {
    rm -f pan*
    spin -a "$@" "$model" && gcc -O2 -w -DSAFETY -DCOLLAPSE -DMEMLIM=2000 pan.c -o pan && ./pan -m100000
}

good() { # NAME FLAGS...
    local name=$1 found
    shift
    found=$(check "$@" 2>&1)
    if grep -q 'errors: 0$' <<<"$found" && ! grep -qi 'not completed\|max search depth\|out of memory' <<<"$found"; then
        echo "ok $name ($(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' <<<"$found") states)"
    else
        echo "not ok $name: $(grep -m 1 '^pan:\|rror' <<<"$found")"
    fi
}

bad() { # NAME FLAGS...
    local name=$1 found
    shift
    found=$(check "$@" 2>&1)
    if grep -q '^pan:1: \(assertion violated\|invalid end state\)' <<<"$found"; then
        echo "ok $name"
    else
        echo "not ok $name: the mistake was not found"
    fi
}
