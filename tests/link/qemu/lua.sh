# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Lua, each source an object.
#
# time limit: 1200

. "$(dirname "$0")/qemu.bash"
pairwise=1
lua=build/deps/lua5.4/src
sources="tests/programs/lua.c $(ls $lua/*.c | grep -v '/luac\?\.c$')"
for script in nbody strings; do
    check_program $script "gcc clang" "-O2 -fPIC -I$lua -DLUA_USE_POSIX" "$sources" tests/programs/$script.lua
done
