# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The example of a product: one file that runs where there is nothing else, not even /proc.

. tests/build/check
. tests/image/alone

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build() {
    PKG_CONFIG_PATH=$PWD/$BUILD/pkgconfig make -s -C examples/product "$1" OUT="$work/out" TENON="$PWD/$BUILD/tenon" \
        CLANG="$LLVM_BIN/clang" >"$work/$1" 2>"$work/log"
}

succeeds "one make target builds it" build run
some "it says which CPU it runs for" "$(grep '^running for x86-64' "$work/log")"
some "it runs" "$(sed -n 2p "$work/run" | grep -F '=*#%%%%%@@@@')"
none "it is static" "$(readelf -lW "$work/out/product" | grep INTERP)"
alone "it runs in an empty folder" "$work/run" "$work/out/product"
