# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# C++ with libstdc++.a: exceptions, thread_local objects, threads, static constructors and destructors.
#
# time limit: 1200

. "$(dirname "$0")/qemu.bash"
check_program cxx "g++ clang++" "-O1 -std=c++17 -fPIC" "tests/programs/cxx_main.cpp tests/programs/cxx_part.cpp" \
    argument
