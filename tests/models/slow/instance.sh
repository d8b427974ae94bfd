# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks tests/models/instance.pml with spin: no interleaving breaks the protocols of code instances, and each
# deliberate mistake is found.
# time limit: 900
# checked: tests/models/instance.pml src/link/instance/instance.c

set -u
model=$PWD/tests/models/instance.pml
. tests/models/support/spin.sh

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
