# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Ten thousand generated programs, at all levels.
#
# time limit: 36000

exec bash tests/gc/generate.sh 1 10000 "0 1 2 3"
