# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Eight threads on two cores for ten minutes, the heap verified after each collection: a third of the time with each
# collector, in a heap so small that there are many. MINUTES=N: for so long.
#
# time limit: 3600

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}" "${CC:=gcc}" "${MINUTES:=10}"
out=$BUILD/tests/gc/mutators
mkdir -p "$out"
"$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -Iinclude -emit-llvm -c tests/gc/slow/mutators/mutators.c \
    -o "$out/mutators.bc" &&
    "$BUILD/tenon" compile -O2 --polls=loops "$out/mutators.bc" -o "$out/mutators.o" &&
    "$CC" -static "$out/mutators.o" "$BUILD/tests/gc/copying.o" "$BUILD/libtenon.a" -Wl,-u,tn_collector_concurrent \
        -lpthread -o "$out/mutators" || exit 1

for collector in generational concurrent copy; do
    if TENON_GC=$collector TENON_GC_VERIFY=1 TENON_GC_LIMIT=33554432 TENON_GC_SOFT_LIMIT=8388608 taskset -c 0,1 \
        timeout $((MINUTES * 60 + 300)) "$out/mutators" $((MINUTES * 20)) >"$out/got" 2>"$out/err" &&
        grep -q '^wrong: 0$' "$out/got"; then
        echo "ok gc/mutators $collector: $(tail -1 "$out/err")"
    else
        echo "not ok gc/mutators $collector: status $? $(tail -1 "$out/got") $(tail -1 "$out/err")"
    fi
done
