# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The client of packages that has a compiler (examples/packages/open.c): for the base that a package was built on it
# compiles nothing; for others, each stale function once.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PKG_CONFIG_PATH=$PWD/$BUILD/pkgconfig
succeeds "the client compiles" "$CC" -O2 -Wall -Wextra -Werror examples/packages/open.c \
    $(pkg-config --cflags --libs tenon-codegen) -lm -o "$work/client"

# package NAME FILE SOURCE OPTION...
package() {
    local name=$1 file=$2
    echo "$3" | "$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -emit-llvm -fPIC -x c -c - -o "$work/$file.bc" &&
        "$BUILD/tenon" build --kind=image --name "$name" -o "$work/$file.image" "${@:4}" "$work/$file.bc"
}
using=(--depends "$work/base.image" --use "$work/base.bc")
package base base 'int g(int x) { return x + 1; }' &&
    package pkg pkg 'int g(int); int rule(int x) { return g(x) * 10; } int other(int x) { return g(x); }' \
        "${using[@]}" --keep-ir &&
    package pkg bare 'int g(int); int rule(int x) { return g(x) * 10; }' "${using[@]}" &&
    package base changed 'int g(int x) { return x + 100; }' &&
    package base wide 'long g(long x) { return x; }' || exit 1

client() { (cd "$work" && ./client "$@"); }
answers "with the base that it was built on nothing is compiled" $'210\n220' client base.image pkg.image
answers "with another one the function is, once" $'compiling pkg(rule)\n1200\n1210' client changed.image pkg.image
answers "without its IR the package is refused" "TN_ESTALE 'rule' is stale" \
    bash -c "'$work/client' '$work/changed.image' '$work/bare.image' 2>&1 | sed 's/:.*;//'"
answers "and if a type has changed" "TN_ESTALE: pkg.image: it uses 'g' of the image 'base': wanted the function \
i32 (i32); found the function i64 (i64)" bash -c "cd '$work' && ./client wide.image pkg.image 2>&1"
answers "and without the base" "TN_EUNDEF: pkg.image: it depends on the image 'base', which is not among the open \
ones" bash -c "cd '$work' && ./client pkg.image 2>&1"
