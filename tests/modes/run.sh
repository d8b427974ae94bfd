# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The command: objects and bitcode, all at once, function by function, with tiers, threads, and from a cache.

. "$(dirname "$0")/modes.bash"
check_cases $(modes_by run)
