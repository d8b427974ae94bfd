# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Executables, shared libraries and images of the programs.

. "$(dirname "$0")/modes.bash"
check_cases $(modes_by exe shared image)
