# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What native functions leave in errno, and in the floating-point environment, survives the safepoints after them
# (tests/gc/errno).

. tests/gc/support/machine.bash
out=$BUILD/tests/gc/errno$there
mkdir -p "$out"
$clang -c tests/gc/errno/managed.c -o "$out/managed.bc" &&
    $compile -O2 --polls=loops "$out/managed.bc" -o "$out/managed.o" &&
    "$CC" -O1 -Wall -Wextra -Iinclude tests/gc/errno/host.c "$out/managed.o" "$copying" "$library" $static \
        -lpthread -lm -o "$out/host" || exit 1

for collector in generational copy; do
    TENON_GC=$collector timeout "$limit" $emulate "$out/host" >"$out/got" 2>"$out/err" ||
        echo "not ok gc/errno $collector: $(head -1 "$out/err")"
    sed "s|^\(.*ok\) |\1 gc/errno $collector |" "$out/got"
done
