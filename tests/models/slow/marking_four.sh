# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks tests/models/marking.pml with spin as marking.sh does, with more objects and fewer pauses.
# time limit: 1800
# checked: tests/models/marking.pml src/gc/generational/marker.c src/gc/generational/concurrent.c
# checked: src/gc/generational/log.c

set -u
model=$PWD/tests/models/marking.pml
. tests/models/support/spin.sh

good "four objects, two pauses" -DOBJECTS=4 -DPAUSES=2
