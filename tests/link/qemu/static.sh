# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A static host, which exports a few functions.
#
# time limit: 1200

. "$(dirname "$0")/qemu.bash"
host=run_static
for flags in "-O1 -fPIC" "-O1 -fPIC -ftls-model=initial-exec" "-O0 -fPIE"; do
    check_program "static host, $flags" "gcc clang" "$flags" tests/link/qemu/static.c argument
done
