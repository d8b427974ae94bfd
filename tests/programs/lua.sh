#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Debian's liblua5.4.a with a main of ours, against the lua5.4 command.

. "$(dirname "$0")/programs.bash"
echo 1..10
bitcode lua -I/usr/include/lua5.4 || exit 1

for script in nbody strings; do
    record "$out/$script.ordinary" lua5.4 $here/$script.lua
    check_program $script "$out/$script.ordinary" "$out/lua.bc" "$archives/liblua5.4.a" -- $here/$script.lua
done

# The program's own error: its text and its status are the tool's.
record "$out/missing" "$BUILD/tenon" run "$out/lua.bc" "$archives/liblua5.4.a" -- no/such.lua
if [ "$(cat "$out/missing.status" "$out/missing.err")" = $'1\ncannot open no/such.lua: No such file or directory' \
    ]; then
    echo "ok programs/lua.error"
else
    echo "not ok programs/lua.error: $(cat "$out/missing.status" "$out/missing.err")"
fi

# The watcher must be able to fail.
"$LLVM_BIN/clang" -O1 -c $here/wx.c -o "$out/wx.o" || exit 1
record "$out/wx" "$out/watch_maps" "$out/wx.maps" "$BUILD/tenon" run "$out/wx.o"
if grep -q '^wx .* rwxp ' "$out/wx.maps" && [ "$(never_wx x "$out/wx.maps" | cut -c 1-6)" = "not ok" ]; then
    echo "ok programs/watch_maps"
else
    echo "not ok programs/watch_maps: did not see a writable and executable page: $(cat "$out/wx.err" "$out/wx.maps")"
fi
