#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Functions of images that are replaced while the program runs: every kind of image, with one version of each function
# and with several, in one shard and in many, and by a list.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=tests/image/source
listed=leaf,constant,summed,average,shifted,depth

compile() { "$LLVM_BIN/clang" -fPIC -emit-llvm -c $source/replaceable.c "$@"; }
compile -O1 -Xclang -disable-llvm-passes -o "$work/plain.bc" && compile -O0 -o "$work/O0.bc" &&
    compile -O1 -Xclang -disable-llvm-passes -DPROGRAM -o "$work/program.bc" || exit 1
link() { "$CC" -O1 -Wall -Wextra -Werror -Iinclude "$@" "$BUILD/libtenon.a" -pthread; }
link $source/replaceable_host.c -o "$work/opens" || exit 1
tr , '\n' <<<$listed >"$work/list"

. tests/image/support/replaceable.bash

# builds NAME FILE WORD...
builds() { succeeds "$1: it is built" "$BUILD/tenon" build -o "$work/$2" "${@:3}"; }

for targets in generic 'x86-64;x86-64-v2;x86-64-v3,clone_all'; do
    for level in 0 2; do
        for shards in 1 4; do
            name="$targets, -O$level, $shards shards"
            builds "$name" image --kind=image --targets "$targets" -O$level --shards $shards --replaceable=$listed \
                "$work/plain.bc"
            answers "$name" "$said" timeout 120 "$work/opens" "$work/image"
        done
    done
    name="$targets, shared"
    builds "$name" image.so --kind=shared --targets "$targets" --replaceable=@"$work/list" "$work/plain.bc"
    answers "$name" "$said" timeout 120 "$work/opens" "$work/image.so"
    name="$targets, linked"
    builds "$name" image.a --targets "$targets" --replaceable=leaf,constant --replaceable=summed,average,shifted,depth \
        "$work/plain.bc"
    for how in -static-pie -no-pie "-static -Wl,--gc-sections"; do
        succeeds "$name $how: the program is linked" link -DLINKED $how $source/replaceable_host.c "$work/image.a" \
            -o "$work/linked"
        answers "$name $how" "$said" timeout 120 "$work/linked"
    done
    name="$targets, by the system's linker"
    succeeds "$name: it is linked" "$CC" -shared -Wl,--whole-archive "$work/image.a" -Wl,--no-whole-archive \
        -o "$work/image.so"
    answers "$name" "$said" timeout 120 "$work/opens" "$work/image.so"
    name="$targets, executable"
    builds "$name" program --kind=exe --targets "$targets" --replaceable "$work/program.bc"
    answers "$name, all" "203 5 10 3 125136 5" "$work/program"
    builds "$name" program --kind=exe --targets "$targets" --replaceable=$listed "$work/program.bc"
    answers "$name, listed" "203 5 10 3 125136 5" "$work/program"
done
builds "clang -O0" image --kind=image --replaceable=$listed "$work/O0.bc"
answers "clang -O0" "$said" timeout 120 "$work/opens" "$work/image"

# All public functions: the one that was refused above is redirected here.
builds "all" image --kind=image --replaceable "$work/plain.bc"
answers "all" "$(sed 's/^TN_ENOTSUP.*/TN_OK: /; s/^after: 203/after: 8/; s/^at the end: 203/at the end: 8/
                      s/^0 calls.*/CALLS/' <<<"$said")" \
    bash -c 'timeout 120 "$0" "$1" | sed "s/^[0-9]* calls.*/CALLS/; s/^TN_OK: .*/TN_OK: /"' "$work/opens" "$work/image"

# What cannot be.
fails() {
    answers "$1" "$2" bash -c '"$@" 2>&1 | sed "s/^[^:]*: //"' - \
        "$BUILD/tenon" build --kind=image -o "$work/no" "${@:3}"
}
fails "a name that is not there" "'none' cannot be replaceable: the input defines no public function of that name" \
    --replaceable=leaf,none "$work/plain.bc"
fails "a variable" "'table' cannot be replaceable: the input defines no public function of that name" \
    --replaceable=table "$work/plain.bc"
fails "an empty list" "--replaceable=, names no function" --replaceable=, "$work/plain.bc"
fails "a list that is not there" "cannot read '$work/nothing': No such file or directory" \
    --replaceable=@"$work/nothing" "$work/plain.bc"
