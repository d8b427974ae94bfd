# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Native code leaves managed code by longjmp (tests/gc/jumps), plain and under stress.

. tests/gc/support/machine.bash
out=$BUILD/tests/gc/jumps$there
mkdir -p "$out"
$clang -c tests/gc/jumps/managed.c -o "$out/managed.bc" &&
    $compile -O2 "$out/managed.bc" -o "$out/managed.o" &&
    "$CC" -O1 -Wall -Wextra -Iinclude tests/gc/jumps/host.c "$out/managed.o" "$copying" "$library" $static \
        -lpthread -o "$out/host" || exit 1

for i in 0 1 2 3; do echo "190 435"; done >"$out/want"
for setting in TENON_GC_VERIFY=1 TENON_GC_STRESS=1; do
    if env $setting timeout "$limit" $emulate "$out/host" >"$out/got" 2>"$out/err" &&
        cmp -s "$out/want" "$out/got"; then
        echo "ok gc/jumps $setting"
    else
        echo "not ok gc/jumps $setting: $(head -1 "$out/err") $(diff "$out/want" "$out/got" | head -1)"
    fi
done
