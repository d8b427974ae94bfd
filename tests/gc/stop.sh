# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# How long it takes to stop a running loop: the median of 200 collections is at most 50 us. (The worst case depends on
# the scheduler if there are more threads than cores.)

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
out=$BUILD/tests/gc/stop
mkdir -p "$out"
"$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -Iinclude -emit-llvm -c tests/gc/stop/stop.c -o "$out/stop.bc" ||
    exit 1

TENON_GC_LOG=1 timeout 100 "$BUILD/tenon" run -O2 --polls=loops "$out/stop.bc" >"$out/got" 2>"$out/log"
if [ "$(cat "$out/got")" = "42 1" ]; then
    echo "ok gc/stop: a loop stops and goes on"
else
    echo "not ok gc/stop: $(head -1 "$out/got") $(head -1 "$out/log")"
fi
median=$(sed -n 's/.* stop_ns=\([0-9]*\) .*/\1/p' "$out/log" | sort -n | sed -n 100p)
if [ -n "$median" ] && [ "$median" -le 50000 ]; then
    echo "ok gc/stop: within $median ns"
else
    echo "not ok gc/stop: within ${median:-?} ns"
fi

# A loop without polls keeps a collection waiting: which thread, and in which function, also if it has called out of
# managed code before.
"$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -Iinclude -emit-llvm -c tests/gc/stop/delay.c -o "$out/delay.bc" ||
    exit 1
seen="last seen in '\(spin\|run\)'"
for arguments in "" again; do
    timeout 20 "$BUILD/tenon" run -O2 "$out/delay.bc" -- $arguments >"$out/got" 2>"$out/log"
    status=$?
    if [ "$status $(tail -1 "$out/got")" = "0 42" ] &&
        grep -q "^tenon run: a collection has waited 1\.[0-9] s for thread [0-9]* (running), $seen$" "$out/log"; then
        echo "ok gc/stop: the thread is named${arguments:+, $arguments}"
    else
        said="$status $(head -1 "$out/got") $(head -1 "$out/log")"
        echo "not ok gc/stop: the thread is named${arguments:+, $arguments}: $said"
    fi
done
