# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Takes every root of tests/gc/programs/corners.c away, one at a time: under stress the program must notice. It cannot where the root is that
# of a call in which nothing is collected, and so nothing moves: there are three such, of setjmp, of tn_pin_object and of a printf.
#
# time limit: 1800

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}" "${CC:=gcc}"
out=$BUILD/tests/gc/mutate
source=tests/gc/programs/corners.c
explained=3
mkdir -p "$out"

"$CC" -O1 -Wall -Wextra -Iinclude tests/gc/mutate/mutate.c -o "$out/mutate" &&
    "$CC" -O1 -DTN_UNMANAGED -Iinclude "$source" -o "$out/plain" && "$out/plain" >"$out/want" &&
    "$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -Iinclude -emit-llvm -c "$source" -o "$out/whole.bc" &&
    "$BUILD/tenon" compile -O2 "$out/whole.bc" -o "$out/whole.o" || exit 1

# unnoticed OBJECT: it runs as if nothing were missing
unnoticed() {
    (TENON_GC_STRESS=1 TENON_GC_VERIFY=1 timeout 60 "$BUILD/tenon" run "$1" >"$out/got") 2>/dev/null &&
        cmp -s "$out/want" "$out/got"
}

if unnoticed "$out/whole.o"; then echo "ok gc/mutate: nothing missing"; else echo "not ok gc/mutate: nothing missing"; fi
roots=$("$out/mutate" "$out/whole.o")
survivors=
for ((i = 0; i < roots; i++)); do
    "$out/mutate" "$out/whole.o" "$out/mutant.o" $i
    if unnoticed "$out/mutant.o"; then survivors="$survivors $i"; fi
done 2>/dev/null
count=$(echo "$survivors" | wc -w)
if [ "$roots" -gt 50 ] && [ "$count" -le $explained ]; then
    echo "ok gc/mutate: $roots roots, not missed:$survivors"
else
    echo "not ok gc/mutate: $count of $roots roots are not missed:$survivors"
fi
