# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Managed code without safepoints, called by native code and by managed code of another file while a thread collects
# (tests/gc/leaves): in a program of its own at each optimisation level, with each collector; linked by `tenon run` in
# each of its modes; in an image.
#
# time limit: 900

. tests/gc/support/machine.bash
source=tests/gc/leaves
out=$BUILD/tests/gc/leaves$there
count=1500
[ -z "$MACHINE" ] || count=100
mkdir -p "$out"
for file in managed other; do
    $clang -c $source/$file.c -o "$out/$file.bc" || exit 1
done
"$CC" -O1 -Wall -Wextra -Iinclude -c $source/native.c -o "$out/native.o" || exit 1

# run NAME COMMAND...
run() {
    local name="gc/leaves $1" status
    shift
    timeout "$limit" "$@" >"$out/got" 2>"$out/err"
    status=$?
    if [ "$status $(cat "$out/got")" = "0 done" ]; then
        echo "ok $name"
    else
        echo "not ok $name: status $status, $(head -1 "$out/got") $(head -1 "$out/err")"
    fi
}

for level in 0 1 2 3; do
    for file in managed other; do
        $compile -O$level "$out/$file.bc" -o "$out/$file.o" || exit 1
    done
    "$CC" "$out/native.o" "$out/managed.o" "$out/other.o" "$copying" "$library" $static \
        -Wl,-u,tn_collector_concurrent -pthread -o "$out/program" || exit 1
    for collector in generational copy concurrent; do
        run "-O$level, $collector" env TENON_GC=$collector $emulate "$out/program" $count
    done
    run "-O$level, stress" env TENON_GC=copy TENON_GC_STRESS=1 $emulate "$out/program" 100
    run "-O$level, verified" env TENON_GC_VERIFY=1 $emulate "$out/program" 100
done
[ -z "$MACHINE" ] || exit 0

rm -rf "$out/cache"
files="$out/native.o $out/managed.bc $out/other.bc"
for mode in "" --lazy --tiers --threads=2 "--lazy --ahead=calls" --cache="$out/cache" --cache="$out/cache" \
    --polls=loops --polls=entries; do
    run "tenon run $mode" "$BUILD/tenon" run -O2 $mode $files -- $count
    run "tenon run $mode, stress" env TENON_GC_STRESS=1 "$BUILD/tenon" run -O2 $mode $files -- 100
done

# An image with two versions of each function: between native code and a body are a jump through a slot and an entry.
for shards in 1 2; do
    "$BUILD/tenon" build -O2 --targets 'x86-64;x86-64-v3' --shards $shards -o "$out/image.a" "$out/managed.bc" \
        "$out/other.bc" && "$CC" -static -Iinclude tests/image/source/collected_open.c "$out/native.o" "$out/image.a" \
        "$copying" "$library" -pthread -o "$out/image" || exit 1
    for cpu in x86-64 x86-64-v3; do
        run "image of $shards shards on $cpu" env TENON_CPU=$cpu TENON_GC=copy "$out/image" $count
        run "image of $shards shards on $cpu, stress" env TENON_CPU=$cpu TENON_GC=copy TENON_GC_STRESS=1 \
            "$out/image" 100
    done
done
