#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Managed code by the baseline compiler, and what is left of it to LLVM in the same modules: generated programs under
# stress, beside a concurrent collector and with polls at each function; IR that was lowered before; which functions are
# covered. tests/gc/programs.sh has programs, with each collector.

. tests/build/check

: "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
out=$BUILD/tests/baseline/managed
mkdir -p "$out" || exit 1
export FOLDER=baseline/managed/generated

bash tests/gc/generate.sh 21 8 baseline
POLLS=entries bash tests/gc/generate.sh 29 4 baseline
STRESS=0 TENON_GC=concurrent bash tests/gc/generate.sh 33 4 baseline
bash tests/gc/generate.sh 37 4 left

# Of a generated program, most functions are covered, and call what is not.
"$BUILD/tests/gc/$FOLDER/generate" c 1 8 >"$out/many.c"
"$LLVM_BIN/clang" -w -O1 -Xclang -disable-llvm-passes -fexceptions -fdefer-ts -Iinclude -Itests/gc/generate -emit-llvm \
    -c "$out/many.c" -o "$out/many.bc"
read -r covered left < <("$BUILD/tenon" compile -O0 --baseline --stats "$out/many.bc" -o "$out/many.o" 2>&1 |
    awk '/ baseline /{ print $4, $6 }')
some "$covered of $((covered + left)) functions" "$([ "$left" -gt 0 ] && [ "$covered" -gt $((4 * left)) ] && echo yes)"

# All functions of these are covered.
for name in bt gcbench lru splay bdd strings arrays; do
    "$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -Iinclude -emit-llvm -c bench/gc/$name.c -o "$out/$name.bc"
    "$BUILD/tenon" compile -O0 --baseline --stats "$out/$name.bc" -o "$out/$name.o" >"$out/stats" 2>&1
    some "$name is covered" "$(grep 'baseline.* [1-9][0-9]* functions; 0 left to LLVM' "$out/stats")"
done

# Groups with stack maps and tables of exceptions: more sections than an object can have with fewer functions.
{
    echo 'declare void @g() declare i32 @__gxx_personality_v0(...) @T = external constant ptr'
    echo 'define ptr addrspace(10) @same(ptr addrspace(10) %x) { ret ptr addrspace(10) %x }'
    seq 6300 | sed 's/.*/$f& = comdat any\ndefine void @f&() comdat personality ptr @__gxx_personality_v0 {\
        invoke void @g() to label %a unwind label %b\na: ret void\nb: %l = landingpad { ptr, i32 } catch ptr @T\
        ret void }/'
} >"$out/groups.ll"
succeeds "too many sections" "$BUILD/tenon" compile -O0 --baseline "$out/groups.ll" -o "$out/groups.o"

# Constants: addresses behind null, which a program computes before it asks whether there is an object.
cat >"$out/constants.ll" <<'END'
define i32 @main() {
  %is = call i1 @equal(ptr addrspace(11) addrspacecast (ptr inttoptr (i64 40 to ptr) to ptr addrspace(11)))
  %status = select i1 %is, i32 7, i32 1
  ret i32 %status
}
define internal i1 @equal(ptr addrspace(11) %at) noinline {
  %is = icmp eq ptr addrspace(11) %at, getelementptr (i8,
    ptr addrspace(11) addrspacecast (ptr addrspace(10) null to ptr addrspace(11)), i64 40)
  ret i1 %is
}
END
"$BUILD/tenon" run -O0 --stats "$out/constants.ll" >"$out/stats" 2>&1
some "the address is right" "$([ $? = 7 ] && echo yes)"
some "constants are covered" "$(grep 'baseline.* [1-9][0-9]* functions*; 0 left to LLVM' "$out/stats")"

# With relocates, as LLVM takes it, for a program whose lists and trees live across calls.
"$BUILD/tenon" opt --passes=tenon "$out/lru.bc" -o "$out/lowered.ll"
"$BUILD/tenon" compile -O0 --baseline --passes= --stats "$out/lowered.ll" -o "$out/lowered.o" >"$out/stats" 2>&1
some "lowered IR is covered" "$(grep 'baseline.* [1-9][0-9]* functions; 0 left to LLVM' "$out/stats")"
"$BUILD/tenon" run -O0 --no-baseline "$out/lru.bc" -- 20 1000 >"$out/want" 2>"$out/err"
TENON_GC_STRESS=1 TENON_GC_VERIFY=1 "$BUILD/tenon" run "$out/lowered.o" -- 20 1000 >"$out/got" 2>"$out/err"
none "it prints the same" "$(cmp "$out/want" "$out/got" 2>&1)"

# All of a module that is left to LLVM, as on other machines.
"$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -fcf-protection=branch -Iinclude -emit-llvm -c bench/gc/lru.c \
    -o "$out/left.bc"
TENON_GC_STRESS=1 TENON_GC_VERIFY=1 "$BUILD/tenon" run -O0 --stats "$out/left.bc" -- 20 1000 >"$out/got" 2>"$out/err"
none "it prints the same by LLVM" "$(cmp "$out/want" "$out/got" 2>&1)"
some "nothing is covered" "$(grep 'baseline.* 0 functions; [1-9][0-9]* left to LLVM' "$out/err")"

# What is shown of this lowering is good for LLVM as well.
"$BUILD/tenon" run -O0 --dump=opt,asm --dump-dir="$out" "$out/lru.bc" -- 20 1000 >"$out/got" 2>"$out/err"
some "there are safepoints" "$(grep '"tenon.live"(' "$out/lru.bc.opt.ll")"
none "its values change in place" "$(grep -e gc.statepoint -e gc.relocate "$out/lru.bc.opt.ll")"
succeeds "LLVM compiles what was lowered" "$BUILD/tenon" compile -O2 --passes= "$out/lru.bc.opt.ll" -o "$out/lru.opt.o"
succeeds "and assembles what was shown" "$LLVM_BIN/clang" -c "$out/lru.bc.s" -o "$out/lru.s.o"
for name in opt s; do
    TENON_GC_STRESS=1 TENON_GC_VERIFY=1 "$BUILD/tenon" run "$out/lru.$name.o" -- 20 1000 >"$out/got" 2>"$out/err"
    none "it prints the same ($name)" "$(cmp "$out/want" "$out/got" 2>&1)"
done

# A bundle of another kind makes the function LLVM's.
sed '/"tenon.live"(ptr/{s//"tenon.live"(i64 1, i64 2, ptr/;:rest;n;b rest}' "$out/lru.bc.opt.ll" >"$out/odd.ll"
"$BUILD/tenon" compile -O0 --baseline --passes= --stats "$out/odd.ll" -o "$out/odd.o" >"$out/stats" 2>&1
some "one is left" "$(grep 'baseline.* [1-9][0-9]* functions; 1 left to LLVM' "$out/stats")"
some "which is told" "$(grep 'a safepoint of another kind' "$out/stats")"
TENON_GC_STRESS=1 TENON_GC_VERIFY=1 "$BUILD/tenon" run "$out/odd.o" -- 20 1000 >"$out/got" 2>"$out/err"
none "it prints the same beside others" "$(cmp "$out/want" "$out/got" 2>&1)"

# Memory of the stack that is asked for after an object: not in the first block any more, which only verify.c sees.
cat >"$out/after.c" <<'EOF'
#include <stdio.h>

#include "tenon_managed.h"

struct cell {
    long n;
};
TN_LEAF(struct cell);
typedef struct cell tn_ref *cell;

static __attribute__((noinline)) long sum(long n)
{
    cell made = tn_new(struct cell), other;
    long *room = __builtin_alloca(16);
    made->n = room[0] = n;
    room[1] = -n;
    other = tn_new(struct cell);
    other->n = n;
    return made->n + room[0] + room[1] + other->n;
}

int main(void)
{
    long all = 0;
    for (long i = 0; i < 100; i++)
        all += sum(i);
    printf("%ld\n", all);
    return 0;
}
EOF
"$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -Iinclude -emit-llvm -c "$out/after.c" -o "$out/after.bc"
TENON_GC_STRESS=1 TENON_GC_VERIFY=1 "$BUILD/tenon" run -O0 --polls=entries --stats "$out/after.bc" \
    >"$out/got" 2>"$out/stats"
some "it sums up" "$([ $? = 0 ] && grep -x 9900 "$out/got")"
some "it is covered" "$(grep 'baseline.* [1-9][0-9]* functions*; 0 left to LLVM' "$out/stats")"

# What no pass of ours leaves stays as it is, or the module is refused.
cat >"$out/strange.ll" <<'END'
@tn.abi = private constant i32 0, section "tenon_abi"
@b = global i64 0
declare void @tn__gc_barrier_row(...)
declare i32 @g()
define i32 @barrier() "frame-pointer"="all" gc "tenon" {
  call void (...) @tn__gc_barrier_row(i64 1, i64 2, i64 3, i1 true, i64 5, i64 6)
  ret i32 0
}
define i32 @poll() "frame-pointer"="all" gc "tenon" {
  %n = call i32 @g() ["tenon.inline"(ptr @b), "tenon.live"()]
  %m = call i32 @g() ["tenon.inline"(i64 8), "tenon.live"()]
  %s = add i32 %n, %m
  ret i32 %s
}
define i32 @assembly(ptr addrspace(10) %x, ptr %p) "frame-pointer"="all" gc "tenon" {
  call void asm sideeffect "nop", ""() ["tenon.live"(ptr addrspace(10) %x, ptr addrspace(10) %x)]
  call void @llvm.prefetch.p0(ptr %p, i32 0, i32 3, i32 1) ["tenon.live"(ptr addrspace(10) %x, ptr addrspace(10) %x)]
  ret i32 0
}
define i32 @constants() "frame-pointer"="all" gc "tenon" {
  %n = call i32 @g() ["tenon.live"(ptr addrspace(10) null, ptr addrspace(10) null)]
  ret i32 %n
}
END
for level in -O2 "-O0 --baseline"; do
    "$BUILD/tenon" compile $level --passes= "$out/strange.ll" -o "$out/strange.o" >"$out/err" 2>&1
    some "$level takes or refuses what is strange" "$([ $? -le 1 ] && echo yes)"
done

# A function that LLVM gets when all of it is lowered: its loop has an allocation, a barrier and a poll.
cat >"$out/half.c" <<'EOF'
#include <stdio.h>

#include "tenon_managed.h"

struct cell {
    struct cell tn_ref *next;
    long n;
};
TN_TYPE(struct cell, next);
typedef struct cell tn_ref *cell;

static cell old;

static long sum_of_many(long count, float x)
{
    _Float16 half = x;
    cell list = NULL;
    long sum = 0;
    for (long i = 0; i < count; i++) {
        cell made = tn_new(struct cell);
        made->n = i;
        made->next = list;
        old->next = list = made;
        half *= (_Float16)1;
    }
    for (; list; list = list->next)
        sum += list->n;
    return sum + (long)half;
}

int main(void)
{
    old = tn_new(struct cell);
    printf("%ld\n", sum_of_many(1000, 3));
    return old->next->n != 999;
}
EOF
"$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -Iinclude -emit-llvm -c "$out/half.c" -o "$out/half.bc"
for collector in generational concurrent; do
    TENON_GC=$collector TENON_GC_STRESS=1 TENON_GC_VERIFY=1 "$BUILD/tenon" run -O0 --polls=loops --stats \
        "$out/half.bc" >"$out/got" 2>"$out/stats"
    some "it sums up beside $collector" "$([ $? = 0 ] && grep -x 499503 "$out/got")"
    some "it is left" "$(grep 'baseline.* [1-9][0-9]* functions*; 1 left to LLVM' "$out/stats")"
done
