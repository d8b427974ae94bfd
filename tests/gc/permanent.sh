# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tests/gc/permanent: compiled barriers of permanent objects, at each optimisation level, with each collector, with and
# without everything moving at each safepoint. Heaps that are not verified have the barriers' quick path. Programs
# without permanent objects do not contain them.

. tests/build/check
. tests/gc/support/machine.bash

out=$BUILD/tests/gc/permanent$there
mkdir -p "$out"
$clang -c tests/gc/permanent/managed.c -o "$out/managed.bc" || exit 1

for level in 0 1 2 3; do
    $compile -O$level "$out/managed.bc" -o "$out/managed.o" &&
        "$CC" -O1 -Iinclude -static tests/gc/permanent/host.c "$out/managed.o" "$copying" "$library" \
            -Wl,-u,tn_collector_concurrent -pthread -o "$out/host" || exit 1
    for collector in copy generational concurrent; do
        for mode in "0 0" "0 1" "1 1"; do
            read -r stress verify <<<"$mode"
            name="gc/permanent -O$level, $collector, stress $stress, verified $verify"
            said=$(TENON_GC=$collector TENON_GC_STRESS=$stress TENON_GC_VERIFY=$verify timeout "$limit" \
                $emulate "$out/host" 2>&1)
            if [ "$said" = $'0 0\n0 0\n0 0' ]; then
                echo "ok $name"
            else
                echo "not ok $name: $(head -n 3 <<<"$said" | tr '\n' ' ')"
            fi
        done
    done
done

permanent() { nm "$1" | grep -E ' (tn_heap_add_permanent|link_weak|arm_all)$'; }
some "they are in the program" "$(permanent "$out/host")"
"$CC" -std=c11 -static -Iinclude -Isrc tests/gc/collectors/host.c "$library" -pthread -o "$out/without" || exit 1
none "programs without them do not contain them" "$(permanent "$out/without")"
