# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks tests/models/instance.pml with spin: no interleaving breaks the protocols of code instances, and each deliberate
# mistake is found.

set -u
model=$PWD/tests/models/instance.pml
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

size() { # WRITERS ATTEMPTS READERS READS UPDATERS REMOVALS
    printf ' -D%s' "WRITERS=$1" "ATTEMPTS=$2" "READERS=$3" "READS=$4" "UPDATERS=$5" "REMOVALS=$6"
}

good "writers, a reader, an updater, a removal" $(size 2 1 1 2 1 1)
good "a writer that reuses memory, removals" $(size 1 3 1 3 0 2)
good "a writer that reuses memory, an updater, removals" $(size 1 2 1 2 1 2)
good "two readers, a removal" $(size 2 1 2 1 0 1)
good "three writers, two readers" $(size 3 1 2 1 0 0)
good "writers, two updaters, a reader" $(size 2 1 1 1 2 0)
for mistake in 1 2 3 4 5 6 7 8 9 10; do
    bad "mistake $mistake is found" $(size 2 1 1 2 1 1) -DBROKEN=$mistake
done
