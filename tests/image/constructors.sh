# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# An image that is linked in, or that dlopen loads, can be called before anybody has opened it; its constructors are.

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
succeeds "it becomes a shared library" "$CC" -shared -Wl,--whole-archive "$work/early.a" -Wl,--no-whole-archive \
    -o "$work/early.so"
succeeds "so it does without a linker" "$BUILD/tenon" build --kind=shared --targets "$targets" -o "$work/own.so" \
    "$work/early.bc"
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
succeeds "of some roots" "$BUILD/tenon" build --kind=shared --targets "$targets" --root early_value --root add \
    -o "$work/roots.so" "$work/early.bc"
for library in early own roots; do
    says "$library.so by dlopen" "$work/loading" dlopen "$work/$library.so"
    says "$library.so by tn_image_open" "$work/loading" tn_image_open "$work/$library.so"
done

# What the system calls at the end, and to resolve indirect functions, runs though nobody has opened the image.
cat >"$work/unopened.c" <<'END'
int puts(const char *);
static int sum(int n) { int result = 0; for (int i = 0; i < n; i++) result += i; return result; }
static int twice(int n) { return sum(4) == 6 ? 2 * n : 0; }
#ifdef INDIRECT
static int (*choose(void))(int) { return sum(3) == 3 ? twice : 0; }
int indirect(int) __attribute__((ifunc("choose")));
#else
__attribute__((destructor)) static void end(void) { if (twice(1) == 2) puts("ended"); }
#endif
int unopened(int n) { return sum(n); }
END
echo 'extern const char tn_image[]; int main(void) { return tn_image[0] != (char)0x89; }' >"$work/destructor.c"
echo 'int indirect(int); int puts(const char *); int main(void) { puts(indirect(21) == 42 ? "ended" : "wrong"); }' \
    >"$work/ifunc.c"
for what in destructor ifunc; do
    "$LLVM_BIN/clang" $([ $what = ifunc ] && echo -DINDIRECT) -O1 -Xclang -disable-llvm-passes -emit-llvm \
        -c "$work/unopened.c" -o "$work/unopened.bc" &&
        "$BUILD/tenon" build --targets "$targets" -o "$work/unopened.a" "$work/unopened.bc"
    for way in -pie -static -static-pie; do
        "$CC" $way "$work/$what.c" "$work/unopened.a" -o "$work/unopened" && said=$("$work/unopened" 2>&1)
        if [ "$said" = ended ]; then
            echo "ok $what of an image that is not open, $way"
        else
            echo "not ok $what of an image that is not open, $way: $said"
        fi
    done
done
