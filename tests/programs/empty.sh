#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The tool alone in a file system that holds nothing but it and its inputs: no libc, no LLVM, no /proc, no /dev, no
# /tmp, no environment.

. "$(dirname "$0")/programs.bash"
root=$out/root
inputs=$out/root/in

inside() { # COMMAND... with no environment
    if [ "$(id -u)" = 0 ]; then env -i "$(command -v chroot)" "$root" "$@"
    else env -i "$(command -v unshare)" --map-root-user --root="$root" "$@"
    fi
}

rm -rf "$root"
mkdir -p "$inputs"
cp "$BUILD/tenon" "$root/"
cp "$archives"/{liblua5.4,libsqlite3,libz,libzstd}.a $here/{nbody,strings}.lua "$inputs/"
bitcode lua -I/usr/include/lua5.4 && bitcode sqlite && bitcode roundtrip || exit 1
cp "$out"/{lua,sqlite,roundtrip}.bc "$inputs/"
awk -f $here/orders.awk >"$out/orders.sql"
if ! inside /tenon --version >"$out/version" 2>&1 && grep -qi 'not permitted' "$out/version"; then
    echo "ok programs/empty # SKIP $(head -1 "$out/version")"
    exit 0
fi

echo 1..6
record "$out/sh" inside /bin/sh -c true
if [ "$(cat "$out/sh.status")" = 127 ]; then
    echo "ok programs/empty.no_shell"
else
    echo "not ok programs/empty.no_shell"
fi

"$LLVM_BIN/clang" -O2 $here/roundtrip.c -o "$out/roundtrip" -lz -lzstd || exit 1
record "$out/nbody.ordinary" lua5.4 $here/nbody.lua
record "$out/strings.ordinary" lua5.4 $here/strings.lua
record "$out/sqlite.ordinary" sqlite3 :memory: <"$out/orders.sql"
record "$out/roundtrip.ordinary" "$out/roundtrip"

alone() { # NAME FILE...
    local name=$1
    shift
    record "$out/$name" inside /tenon run "$@"
    same "programs/empty.$name" "$out/$name.ordinary" "$out/$name"
}
alone nbody /in/lua.bc /in/liblua5.4.a -- /in/nbody.lua </dev/null
alone strings -O0 /in/lua.bc /in/liblua5.4.a -- /in/strings.lua </dev/null
alone sqlite /in/sqlite.bc /in/libsqlite3.a <"$out/orders.sql"
alone roundtrip /in/roundtrip.bc /in/libz.a /in/libzstd.a </dev/null

if [ -z "$(find "$root" -newer "$out/roundtrip.ordinary.status" -type f)" ]; then echo "ok programs/empty.left_nothing"
else echo "not ok programs/empty.left_nothing: $(find "$root" -newer "$out/roundtrip.ordinary.status" -type f)"
fi
rm -rf "$root"
