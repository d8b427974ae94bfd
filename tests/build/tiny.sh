# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A static product without LLVM that compiles by a server (examples/tiny), in an empty root directory if this user may
# have one.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PKG_CONFIG_PATH=$(realpath "$BUILD")/pkgconfig

answers "the example is made and runs" "12 bits
compiled by the server
12 bits
from the cache" \
    bash -c 'make -s -C examples/tiny run OUT="$1" TENON="$2" CC="$CC" | grep -v "^alone in "' _ \
    "$work" "$(realpath "$BUILD/tenon")"
none "the product has nothing of LLVM" "$(strings "$work/tiny" | grep -i 'llvm\.\(dbg\|memcpy\)')"
succeeds "it is small" test "$(stat -c %s "$work/tiny")" -lt 2000000
mkdir -m 700 "$work/empty"
some "without a server it says so" "$("$work/tiny" "$work/none" "$work/empty" 2>&1 |
    grep '^the compile server could not be started')"
some "another command is no server" "$("$work/tiny" /bin/true "$work/empty" 2>&1 |
    grep '^the other process has closed the connection')"
