#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Images that are retired while threads call their functions, and functions of images and stubs that lead to each other
# in a circle.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=tests/image/source

"$LLVM_BIN/clang" -fPIC -O1 -Xclang -disable-llvm-passes -emit-llvm -c $source/replaceable.c \
    -o "$work/plain.bc" || exit 1
for host in retire circles; do
    "$CC" -O1 -Wall -Wextra -Werror -D_GNU_SOURCE -Iinclude $source/${host}_host.c "$BUILD/libtenon.a" -pthread \
        -o "$work/$host" || exit 1
done
"$BUILD/tenon" build --kind=image --replaceable=leaf,depth -o "$work/stays" "$work/plain.bc" || exit 1

versions="--targets x86-64;x86-64-v2,clone_all"
for how in "--kind=image" "--kind=shared" "--kind=image --replaceable" "--kind=image $versions"; do
    succeeds "$how: it is built" "$BUILD/tenon" build $how -o "$work/image" "$work/plain.bc"
    answers "$how: it is retired" "0 calls were wrong" timeout 120 "$work/retire" "$work/image" "$work/stays" 100
done
answers "circles" "two images: TN_EINVAL, ends
three functions: TN_EINVAL, ends
a stub, the image last: TN_EINVAL, ends
a stub, the stub last: TN_EINVAL, ends
a stub and two images, the stub last: TN_EINVAL, ends
stubs of two sessions, the image last: TN_EINVAL, ends
all, the image last: TN_EINVAL, ends
calls end" timeout 120 "$work/circles" "$work/stays"
