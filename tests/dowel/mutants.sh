# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# 200 programs that a generator has made wrong: each runs, or is refused with a message that names the place.

. tests/dowel/dowel

none "mutants run, or are refused" "$(python3 tests/dowel/mutants.py "$dowel" "$work" 200 2>&1)"
