# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The programs with threads that $RACES names, many at a time on few processors: make test-races.

exec tests/races $RACES
