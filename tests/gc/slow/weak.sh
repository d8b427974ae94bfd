# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ../weak.sh, each linkage in every way.

each_with_each=1
. tests/gc/weak.sh
