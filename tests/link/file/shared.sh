# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What tests/link/qemu/shared.sh does for other machines.
#
# time limit: 600

if [ "$(uname -m)" != x86_64 ]; then
    echo "ok shared libraries of C and C++ # SKIP the command runs on x86-64"
    exit
fi
MACHINES=x86_64 exec bash tests/link/qemu/shared.sh
