# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The tests of heaps once more, those of images' too, with each collector that is not the default one.
#
# time limit: 1800

: "${BUILD:=build}"
for other in generational concurrent copy; do
    ! grep -q "tn_collector_$other" src/gc/heap/chosen.c || continue
    for test in gc/{object/objects,heap/{heap,faults,fork,stats,limits,patterns},threads/{threads,delay}} \
        gc/managed/lazy gc/load/loaded image/heap/{open,needs,unique,patches,same,depends,processes} image/save/save; do
        [ -x "$BUILD/tests/$test" ] || continue # not all of them are in every build
        [ "$other $test" != "copy gc/heap/fork" ] || continue # that one has no threads, and does nothing at a fork
        if TENON_GC=$other timeout 250 "$BUILD/tests/$test" >"$BUILD/tests/gc/other.out" 2>&1; then
            echo "ok gc/other $other $test"
        else
            status=$?
            echo "not ok gc/other $other $test: status $status" \
                "$(grep -m 1 -E 'FAILED|: error' "$BUILD/tests/gc/other.out")"
        fi
    done
done
