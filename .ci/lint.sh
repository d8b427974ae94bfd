# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# make lint as a suite of tests/run. The objects that it reads are there.
#
# time limit: 1800

if tools/build/lint; then echo "ok lint"; else echo "not ok lint"; fi
