# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A product without LLVM that runs from the cache it ships (examples/cached).

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PKG_CONFIG_PATH=$(realpath "$BUILD")/pkgconfig

answers "the example is made and runs" "12 bits
12 bits" \
    make -s -C examples/cached run OUT="$work" CC="$CC"
none "the product has nothing of LLVM" "$(strings "$work/product" | grep -i 'llvm\.\(dbg\|memcpy\)')"
some "the maker has" "$(strings "$work/maker" | grep -i 'llvm\.\(dbg\|memcpy\)')"
succeeds "it is small" test "$(stat -c %s "$work/product")" -lt 2000000
answers "it runs again, and changes nothing" "12 bits" "$work/product" "$work/cache"
mkdir -m 700 "$work/empty"
some "without its cache it says what is missing" \
    "$("$work/product" "$work/empty" 2>&1 | grep -E '^bits: not in the cache under the key [0-9a-f]{64}, and')"
chmod 777 "$work/cache"
some "it does not run what others could have written" "$("$work/product" "$work/cache" 2>&1 | grep "$work/cache")"
