# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The barrier's calling convention (tests/gc/registers): compiled code relies on no register that the barrier may
# destroy, and does rely on each of the others, so that a barrier which destroys one of these would be noticed.

. tests/build/check

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}" "${CC:=gcc}"
out=$BUILD/tests/gc/registers
mkdir -p "$out"
[ "$(uname -m)" = x86_64 ] || { echo "ok gc/registers # SKIP managed code runs on x86-64 only"; exit 0; }
"$CC" -O1 -w -DTN_UNMANAGED -Iinclude tests/gc/registers/managed.c -o "$out/plain" && "$out/plain" >"$out/want" &&
    "$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -Iinclude -emit-llvm -c tests/gc/registers/managed.c \
        -o "$out/managed.bc" &&
    "$BUILD/tenon" compile -O2 "$out/managed.bc" -o "$out/managed.o" || exit 1

# build NAME OPTION...: the program with such a barrier
build() {
    local name=$1
    shift
    "$CC" -c "$@" tests/gc/registers/destroy_x86_64.s -o "$out/$name.o" &&
        "$CC" -static -Wl,--wrap=tn__gc_log "$out/managed.o" "$out/$name.o" "$BUILD/tests/gc/copying.o" \
            "$BUILD/libtenon.a" -lpthread -o "$out/$name"
}

# right NAME: it prints what the plain program does
right() {
    (TENON_GC_STRESS=1 TENON_GC_VERIFY=1 timeout 60 "$out/$1" 2>/dev/null | cmp -s "$out/want" -) 2>/dev/null
}

build all && right all && echo "ok all that it may destroy" || echo "not ok all that it may destroy"
number=0
for register in rax rcx rdx rsi rdi r8 r9 r10 rbx r12 r13 r14 r15; do
    build wrong -Wa,--defsym,WRONG=$number || exit 1
    if right wrong; then echo "not ok $register: nothing is kept there"; else echo "ok $register"; fi
    number=$((number + 1))
done
