# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The tests of heaps once more, with each collector that is not the default one.
#
# time limit: 900

: "${BUILD:=build}"
for other in generational concurrent copy; do
    ! grep -q "tn_collector_$other" src/gc/heap/chosen.c || continue
    for test in object/objects heap/heap heap/faults heap/fork heap/stats heap/limits heap/patterns threads/threads \
        threads/delay managed/lazy load/loaded; do
        [ -x "$BUILD/tests/gc/$test" ] || continue # managed/lazy is not in every build
        if TENON_GC=$other timeout 250 "$BUILD/tests/gc/$test" >"$BUILD/tests/gc/other.out" 2>&1; then
            echo "ok gc/other $other $test"
        else
            status=$?
            echo "not ok gc/other $other $test: status $status" \
                "$(grep -m 1 -E 'FAILED|: error' "$BUILD/tests/gc/other.out")"
        fi
    done
done
