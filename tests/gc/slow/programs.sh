# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ../programs.sh, each program at each level.
#
# time limit: 3600

all_levels='0 1 2 3' queens=4 pairs=400 arrays=20
. tests/gc/programs.sh
