# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Executables, shared libraries and images of the programs, also those whose functions can be replaced.

. "$(dirname "$0")/modes.bash"
check_cases $(modes_by exe shared image replaceable package stale)
