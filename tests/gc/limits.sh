# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Managed programs in heaps of 4 and 32 MB: what fits runs as in a large one, and what does not ends with a message,
# whether objects are small, middle-sized or large.
#
# time limit: 600

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}" "${CC:=gcc}"
out=$BUILD/tests/gc/limits
mkdir -p "$out"

# runs NAME ARGUMENT...: by the command, which has no copying collector; with that one, as a program of its own.
runs() {
    local name=$1
    shift
    if [ "$TENON_GC" = copy ]; then
        timeout 120 "$out/$name" "$@"
    else
        timeout 120 "$BUILD/tenon" run -O2 "$out/$name.bc" -- "$@"
    fi
}

# fits MB NAME ARGUMENT...
fits() {
    local megabytes=$1 name=$2
    shift 2
    TENON_GC= "$BUILD/tenon" run -O2 "$out/$name.bc" -- "$@" >"$out/want" 2>/dev/null
    if TENON_GC_LIMIT=$((megabytes << 20)) runs "$name" "$@" >"$out/got" 2>"$out/err" &&
        cmp -s "$out/want" "$out/got"; then
        echo "ok gc/limits $TENON_GC: $name $* in $megabytes MB"
    else
        echo "not ok gc/limits $TENON_GC: $name $* in $megabytes MB: $(head -1 "$out/err")"
    fi
}

# exceeds MB NAME ARGUMENT...
exceeds() {
    local megabytes=$1 name=$2 status
    shift 2
    TENON_GC_LIMIT=$((megabytes << 20)) runs "$name" "$@" >"$out/got" 2>"$out/err"
    status=$?
    if [ $status = 1 ] && grep -q 'out of memory: no [0-9]* bytes in the heap' "$out/err"; then
        echo "ok gc/limits $TENON_GC: $name $* exceeds $megabytes MB"
    else
        echo "not ok gc/limits $TENON_GC: $name $* in $megabytes MB: status $status $(head -1 "$out/err")"
    fi
}

for name in bt strings lru rewrite arrays; do
    "$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -Iinclude -emit-llvm -c bench/gc/$name.c -o "$out/$name.bc" &&
        "$BUILD/tenon" compile -O2 "$out/$name.bc" -o "$out/$name.o" &&
        "$CC" -Iinclude -static tests/gc/limits/heap.c "$out/$name.o" "$BUILD/tests/gc/copying.o" "$BUILD/libtenon.a" \
            -lpthread -o "$out/$name" || exit 1
done
for collector in generational copy; do
    export TENON_GC=$collector
    fits 4 bt 13
    fits 4 strings 300 2000
    fits 4 lru 5000 200000
    fits 4 rewrite 10000 100000
    exceeds 4 bt 18
    exceeds 4 strings 300 2000000
    exceeds 4 lru 500000 1
    exceeds 4 arrays 8 10
    fits 32 bt 15
    fits 32 strings 300 20000
    fits 32 arrays 8 100
    exceeds 32 bt 20
    exceeds 32 arrays 64 10
    exceeds 32 rewrite 2000000 10
done
