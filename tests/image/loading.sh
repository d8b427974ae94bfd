# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What code in a loaded file may do as it may in one that dlopen loads: throw and catch, keep thread-local variables,
# run before and after everything else.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=tests/image/source
targets='x86-64;x86-64-v3'
# What is thrown: out of the image, inside it, through it; how many guards that passed. Variables: of two threads.
# Beginnings and ends in their order.
expected='6 103 203 42 4; 50 46; 12345'

"$LLVM_BIN/clang" -x c++ -O1 -Xclang -disable-llvm-passes -emit-llvm -fPIC -c $source/throws.cpp -o "$work/throws.bc" ||
    exit 1
for kind in archive shared image; do
    succeeds "$kind: it is built" "$BUILD/tenon" build --kind=$kind --targets "$targets" -o "$work/$kind" \
        "$work/throws.bc"
done
whole="-Wl,--whole-archive $work/archive -Wl,--no-whole-archive"
succeeds "a library made by ld" g++ -shared $whole -o "$work/ld"
succeeds "one without the compiler's beginning and end" gcc -shared -nostdlib $whole -o "$work/bare"
succeeds "one made by lld" "$LLVM_BIN/ld.lld" -shared --eh-frame-hdr --whole-archive "$work/archive" -o "$work/lld"
for way in -static -static-pie -rdynamic; do
    succeeds "a program, $way" g++ -Wall -Wextra -Werror -Iinclude $source/catches.cpp "$BUILD/libtenon.a" $way \
        -o "$work/host"
    for file in ld lld shared image; do
        said=$("$work/host" "$work/$file" 2>&1)
        if [ "$said" = "$expected | $expected" ]; then
            echo "ok $file, loaded, $way"
        else
            echo "not ok $file, loaded, $way: $said"
        fi
    done
    some "what has no end is refused, $way" "$("$work/host" "$work/bare" |
        grep 'TN_EFORMAT.* does not end with a zero')"
done

# Inline functions that the program has as well, of whichever copy is kept; assembly of a file's own keeps a module in
# one piece.
cat >"$work/inline.h" <<'END'
inline int plain(int n) { return 3 * n; }
inline int looping(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += plain(i); return sum; }
struct shape { virtual ~shape() {} virtual int area(int n) { int sum = 0; while (n) sum += n--; return sum; } };
inline int next() { static int count = 5; return count++; }
END
cat >"$work/part.cpp" <<'END'
#include "inline.h"
#ifdef ASSEMBLY
__asm__(".globl in_assembly\nin_assembly: ret");
#endif
extern "C" int part(shape *shape) { return plain(1) + looping(3) + shape->area(4) + next(); }
extern "C" shape *make() { return new struct shape; }
END
cat >"$work/whole.cpp" <<'END'
#include <cstdio>
#include "inline.h"
#include "tenon_image.h"
extern "C" const char parts[];
extern "C" int part(shape *);
extern "C" shape *make();
int main()
{
    tn_image *image;
    tn_error err;
    shape own, *other;
    if (tn_image_open_linked(parts, nullptr, &image, &err) || (other = make())->area(2) != 3)
        return puts("failed"), 1;
    int first = next(), second = part(&own), third = next();
    return printf("%d %d %d %d\n", first, second, third, plain(2) + looping(4) + own.area(3) + other->area(3)), 0;
}
END
for way in '' -DASSEMBLY; do
    "$LLVM_BIN/clang++" $way -O1 -Xclang -disable-llvm-passes -emit-llvm -fPIC -c "$work/part.cpp" -o "$work/part.bc" &&
        "$BUILD/tenon" build --name parts --targets "$targets" -o "$work/parts.a" "$work/part.bc"
    for linker in bfd lld; do
        for order in 'whole.cpp parts.a' '-Wl,--whole-archive parts.a -Wl,--no-whole-archive whole.cpp'; do
            (cd "$work" && g++ -w -B"$LLVM_BIN" -fuse-ld=$linker -I"$OLDPWD/include" $order \
                "$OLDPWD/$BUILD/libtenon.a" -o whole) 2>"$work/log"
            said=$("$work/whole" 2>&1)
            name="inline functions of both, $linker, $order $way"
            if [ "$said" = '5 28 7 36' ]; then
                echo "ok $name"
            else
                echo "not ok $name: $said $(head -n 3 "$work/log")"
            fi
            rm -f "$work/whole"
        done
    done
done
