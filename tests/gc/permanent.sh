# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tests/gc/permanent: compiled barriers of permanent objects, at each optimisation level, with each collector, with and
# without everything moving at each safepoint. Programs without permanent objects do not contain them.

. tests/build/check

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}" "${CC:=gcc}"
out=$BUILD/tests/gc/permanent
mkdir -p "$out"
[ "$(uname -m)" = x86_64 ] || { echo "ok gc/permanent # SKIP managed code runs on x86-64 only"; exit 0; }
"$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -Iinclude -emit-llvm -c tests/gc/permanent/managed.c \
    -o "$out/managed.bc" || exit 1

for level in 0 1 2 3; do
    "$BUILD/tenon" compile -O$level "$out/managed.bc" -o "$out/managed.o" &&
        "$CC" -O1 -Iinclude -static tests/gc/permanent/host.c "$out/managed.o" "$BUILD/libtenon.a" \
            -Wl,-u,tn_collector_copying -Wl,-u,tn_collector_concurrent -lpthread -o "$out/host" || exit 1
    for collector in copy generational concurrent; do
        for stress in 0 1; do
            name="gc/permanent -O$level, $collector, stress $stress"
            said=$(TENON_GC=$collector TENON_GC_STRESS=$stress TENON_GC_VERIFY=1 timeout 60 "$out/host" 2>&1)
            if [ "$said" = $'0 0\n0 0' ]; then
                echo "ok $name"
            else
                echo "not ok $name: $(head -n 3 <<<"$said" | tr '\n' ' ')"
            fi
        done
    done
done

permanent() { nm "$1" | grep -E ' (tn_heap_add_permanent|link_weak|arm_all)$'; }
some "they are in the program" "$(permanent "$out/host")"
"$CC" -std=c11 -static -Iinclude -Isrc tests/gc/collectors/host.c "$BUILD/libtenon.a" -lpthread -o "$out/without" ||
    exit 1
none "programs without them do not contain them" "$(permanent "$out/without")"
