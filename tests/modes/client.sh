# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Clients of the C API: all at once, by lazy functions, in a thread that is not attached, removed and added again.

. "$(dirname "$0")/modes.bash"
check_cases $(modes_by host library)
