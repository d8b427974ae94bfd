# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks tests/models/transition.pml with spin: no object moves while a thread is in managed code, on processors whose
# loads overtake stores, and each deliberate mistake is found.
# time limit: 900
# checked: tests/models/transition.pml src/gc/threads/world.c

set -u
model=$PWD/tests/models/transition.pml
. tests/models/support/spin.sh

good "two threads, two collections" -DREFUSED=0
good "the system refuses fences" -DREFUSED=1
good "the system refuses them later" -DREFUSED=2
good "one thread, three collections, the second refused" -DREFUSED=2 -DTHREADS=1 -DTRIPS=3 -DCOLLECTIONS=3
while read -r mistake refused; do
    bad "mistake $mistake is found" "-DBROKEN=$mistake" "-DREFUSED=$refused"
done <<'END'
1 0
2 0
3 0
4 0
5 0
6 0
7 1
8 0
9 2
END
