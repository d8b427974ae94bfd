# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What code in a loaded file may do as it may in one that dlopen loads: throw and catch, keep thread-local variables, run
# before and after everything else.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=tests/image/source
targets='x86-64;x86-64-v3'
# What is thrown: out of the image, inside it, through it; how many guards that passed. Variables: of two threads. Beginnings
# and ends in their order.
expected='6 103 203 42 4; 50 46; 12345'

"$LLVM_BIN/clang" -x c++ -O1 -Xclang -disable-llvm-passes -emit-llvm -fPIC -c $source/throws.cpp -o "$work/throws.bc" || exit 1
for kind in archive shared image; do
    succeeds "$kind: it is built" "$BUILD/tenon" build --kind=$kind --targets "$targets" -o "$work/$kind" "$work/throws.bc"
done
whole="-Wl,--whole-archive $work/archive -Wl,--no-whole-archive"
succeeds "a library made by ld" g++ -shared $whole -o "$work/ld"
succeeds "one without the compiler's beginning and end" gcc -shared -nostdlib $whole -o "$work/bare"
succeeds "one made by lld" "$LLVM_BIN/ld.lld" -shared --eh-frame-hdr --whole-archive "$work/archive" -o "$work/lld"
for way in -static -static-pie -rdynamic; do
    succeeds "a program, $way" g++ -Wall -Wextra -Werror -Iinclude $source/catches.cpp "$BUILD/libtenon.a" $way -o "$work/host"
    for file in ld lld shared image; do
        said=$("$work/host" "$work/$file" 2>&1)
        if [ "$said" = "$expected | $expected" ]; then echo "ok $file, loaded, $way"; else echo "not ok $file, loaded, $way: $said"; fi
    done
    some "what has no end is refused, $way" "$("$work/host" "$work/bare" | grep 'TN_EFORMAT.* does not end with a zero')"
done
