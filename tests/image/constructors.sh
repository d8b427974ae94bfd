# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Constructors of an image that is linked in, or that dlopen loads, run before anybody has opened it.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=tests/image/source
targets='x86-64;x86-64-v2;x86-64-v3'

"$LLVM_BIN/clang++" -O1 -Xclang -disable-llvm-passes -emit-llvm -c $source/early.cpp -o "$work/early.bc" || exit 1
succeeds "it builds" "$BUILD/tenon" build --targets "$targets" -o "$work/early.a" "$work/early.bc"
link() { "$CC" -Wall -Wextra -Werror -Iinclude $source/early_program.c "$@"; }
linked="-DLINKED $work/early.a $BUILD/libtenon.a"
succeeds "it is linked in" link $linked -o "$work/dynamic"
succeeds "it is linked in statically" link $linked -static -o "$work/static"
succeeds "it is linked in as a static PIE" link $linked -static-pie -o "$work/static-pie"
succeeds "it becomes a shared library" "$CC" -shared -Wl,--whole-archive "$work/early.a" -Wl,--no-whole-archive -o "$work/early.so"
succeeds "a program that loads" link "$BUILD/libtenon.a" -o "$work/loading"

# says NAME COMMAND...
says() {
    local name=$1
    shift
    local said=$("$@" 2>&1)
    if [ "$said" = "1010 11" ]; then echo "ok $name"; else echo "not ok $name: $said"; fi
}
for program in dynamic static static-pie; do
    says "$program" "$work/$program"
done
says "dlopen" "$work/loading" dlopen "$work/early.so"
says "tn_image_open" "$work/loading" tn_image_open "$work/early.so"

# Who has no constructors pays nothing: the slots have no bytes in the file, and no relocations.
"$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -emit-llvm -c $source/work.c -o "$work/work.bc" &&
    "$BUILD/tenon" build --targets "$targets" -o "$work/work.a" "$work/work.bc"
some "slots of others are zeros" "$(nm "$work/work.a" 2>/dev/null | grep -i ' b tn_image.slots')"
some "these are not" "$(nm "$work/early.a" 2>/dev/null | grep -i ' d tn_image.slots')"
