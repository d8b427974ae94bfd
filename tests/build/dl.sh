# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A static program that opens shared libraries (examples/dl).

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PKG_CONFIG_PATH=$(realpath "$BUILD")/pkgconfig

libz=$(${CXX:-g++} -print-file-name=libz.so.1)
if [ "$(uname -m)" != x86_64 ] || [ ! -e "$libz" ]; then
    echo "ok shared libraries in a static program # SKIP needs libz.so.1 for x86-64"
    exit
fi
version=$(sed -n 's/^#define ZLIB_VERSION "\(.*\)"/\1/p' /usr/include/zlib.h)
answers "libz and a library in C++" "$version
3 roses, no tulip" \
    bash -c 'make -s -C examples/dl run OUT="$1" TENON="$2" CC="$CC" 2>"$1/warnings"' _ "$work" \
    "$(realpath "$BUILD/tenon")"
answers "the program has no dynamic linker" "" bash -c 'readelf -lW "$1/dl" | grep INTERP' _ "$work"
some "what is not there is said" "$("$work/dl" "$libz" nothing 2>&1 | grep "nothing")"
some "nor is a file" "$("$work/dl" "$work/none.so" nothing 2>&1 | grep "none.so")"
