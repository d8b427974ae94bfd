# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Ten thousand generated programs.
#
# time limit: 36000

exec bash tests/gc/generate.sh 1 10000
