# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Exceptions through loaded frames in programs with each unwinder: libgcc's, shared and static, and LLVM's.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: "${CXX:=g++}"
here=tests/link/unwind/unwinders

compile="$CXX -std=c++17 -O1 -Wall -Wextra -Werror -fPIC -Iinclude -c"
$compile $here/guest.cpp -o "$work/guest.o" && $compile $here/host.cpp -o "$work/host.o" || exit 1

# with NAME UNWINDER FLAG...: links the host so, runs it and names its lines after it.
with() {
    local name=$1 unwinder=$2
    shift 2
    $CXX "$work/host.o" "$BUILD/libtenon.a" "$@" -o "$work/host" || exit 1
    timeout 120 "$work/host" "$work/guest.o" >"$work/out" 2>&1 || echo "not ok $name: status $?"
    sed "s/^\(not ok\|ok\) /\1 $name: /" "$work/out"
    some "$name: the unwinder is $unwinder" "$(grep -x "# the unwinder is $unwinder" "$work/out")"
}

with "libgcc" "libgcc's"
with "libgcc, static" "libgcc's" -static
if ! nm "$($CXX -print-file-name=libunwind.a)" 2>/dev/null | grep -q __unw_add_dynamic_fde; then
    echo "ok LLVM's libunwind # SKIP it is not installed"
    exit 0
fi
# Placed before the libraries that g++ adds. Without --eh-frame-hdr, static programs of gcc register their own frames
# with libgcc only.
with "LLVM's libunwind" "LLVM's" -l:libstdc++.a -l:libunwind.a
with "LLVM's libunwind, static" "LLVM's" -static -Wl,--eh-frame-hdr -lstdc++ -l:libunwind.a
