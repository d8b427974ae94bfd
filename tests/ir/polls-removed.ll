; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Poll elimination: each function whose name begins with `no_` is left without a poll in its loops, each that begins with
; `with_` keeps one.

; RUN: %tenon opt --passes=insert-polls --polls=loops --stats %s -o %t.ll 2>%t.stats
; RUN: FileCheck %s --input-file=%t.ll
; RUN: FileCheck %s --check-prefix=STATS --input-file=%t.stats
; STATS: 8 polls removed
; RUN: %tenon opt --passes=insert-polls --polls=all --stats %s -o %t.all 2>%t.stats
; RUN: FileCheck %s --check-prefix=ALL --input-file=%t.all
; RUN: %tenon opt --passes='tenon<level=1;no_poll_elimination>' --polls=loops --stats %s 2>&1 >/dev/null | FileCheck %s --check-prefix=OFF
; RUN: %tenon opt --passes='tenon<level=0>' --polls=loops --stats %s 2>&1 >/dev/null | FileCheck %s --check-prefix=OFF
; OFF: {{^ *}}0 polls removed
; RUN: %tenon compile -O2 --polls=all %s -o %t.o

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"
declare void @native()
declare void @julia.safepoint(ptr)
declare ptr addrspace(10) @julia.gc_alloc_obj(ptr, i64, ptr addrspace(10))

; ---- another place to look ----

; Neither the first nor the last block allocates, but each turn does.
; CHECK-LABEL: define void @no_middle(
; CHECK-NOT: tn__gc_poll
; CHECK: ret void
define void @no_middle(i1 %c, i1 %d) {
entry:
  br label %loop
loop:
  br i1 %d, label %left, label %right
left:
  %a = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 8, ptr addrspace(10) null)
  br label %latch
right:
  %b = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 100000, ptr addrspace(10) null)
  br label %latch
latch:
  br i1 %c, label %loop, label %done
done:
  ret void
}

; CHECK-LABEL: define void @with_one_way(
; CHECK: tn__gc_poll
; CHECK: ret void
define void @with_one_way(i1 %c, i1 %d) {
entry:
  br label %loop
loop:
  br i1 %d, label %left, label %latch
left:
  %a = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 8, ptr addrspace(10) null)
  br label %latch
latch:
  br i1 %c, label %loop, label %done
done:
  ret void
}

; The outer loop allocates in each turn, the inner one does not.
; CHECK-LABEL: define void @with_inner(
; CHECK: inner:
; CHECK: label %poll
; CHECK: outer.latch:
; CHECK-NOT: label %poll
; CHECK: ret void
define void @with_inner(i1 %c, i1 %d) {
entry:
  br label %outer
outer:
  br label %inner
inner:
  br i1 %d, label %inner, label %middle
middle:
  %a = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 8, ptr addrspace(10) null)
  br label %outer.latch
outer.latch:
  br i1 %c, label %outer, label %done
done:
  ret void
}

; A poll that the program asks for is one; there is no second.
; CHECK-LABEL: define void @no_second(
; CHECK: call void @tn__gc_poll
; CHECK-NOT: tn__gc_poll
; CHECK: ret void
define void @no_second(i1 %c) {
entry:
  br label %loop
loop:
  call void @julia.safepoint(ptr null)
  br i1 %c, label %loop, label %done
done:
  ret void
}

; A function that is called may return without having met a poll; but if each polls when it is entered, it is one.
; CHECK-LABEL: define void @with_call(
; CHECK: tn__gc_poll
; CHECK: ret void
; ALL-LABEL: define void @with_call(
; ALL: loop:
; ALL-NOT: tn__gc_poll
; ALL: ret void
define void @with_call(i1 %c) {
entry:
  br label %loop
loop:
  call void @callee()
  br i1 %c, label %loop, label %done
done:
  ret void
}

define void @callee() {
  call void @native()
  ret void
}

; Not one that another definition may replace, nor one without safepoints, nor native code.
; ALL-LABEL: define void @with_weak(
; ALL: loop:
; ALL: tn__gc_poll
; ALL: ret void
define void @with_weak(i1 %c) {
entry:
  br label %loop
loop:
  call void @weak()
  call void @leaf()
  call void @native()
  br i1 %c, label %loop, label %done
done:
  ret void
}

define weak void @weak() {
  call void @native()
  ret void
}

define void @leaf() {
  ret void
}

; Two ways into one loop.
; CHECK-LABEL: define void @with_two_entries(
; CHECK: tn__gc_poll
; CHECK: ret void
define void @with_two_entries(i1 %c, i1 %d) {
entry:
  br i1 %d, label %a, label %b
a:
  br label %b
b:
  br i1 %c, label %a, label %done
done:
  ret void
}

; ---- short loops ----

; CHECK-LABEL: define i64 @no_count(
; CHECK-NOT: tn__gc_poll
; CHECK: ret i64
define i64 @no_count(i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %j = add i64 %i, 1
  %c = icmp ult i64 %j, 100
  br i1 %c, label %loop, label %done
done:
  ret i64 %j
}

; At most so many turns.
; CHECK-LABEL: define i64 @no_masked(
; CHECK-NOT: tn__gc_poll
; CHECK: ret i64
define i64 @no_masked(i64 %n) {
entry:
  %m = and i64 %n, 63
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %j = add nuw i64 %i, 1
  %c = icmp ult i64 %j, %m
  br i1 %c, label %loop, label %done
done:
  ret i64 %j
}

; Both are short together: 16 times 16.
; CHECK-LABEL: define i64 @no_nest(
; CHECK-NOT: tn__gc_poll
; CHECK: ret i64
define i64 @no_nest(i64 %n) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i1, %latch ]
  br label %inner
inner:
  %k = phi i64 [ 0, %outer ], [ %k1, %inner ]
  %k1 = add i64 %k, 1
  %c = icmp ult i64 %k1, 16
  br i1 %c, label %inner, label %latch
latch:
  %i1 = add i64 %i, 1
  %d = icmp ult i64 %i1, 16
  br i1 %d, label %outer, label %done
done:
  ret i64 %i
}

; 1000 times 1000 is not short, but the inner one is.
; CHECK-LABEL: define i64 @with_long_nest(
; CHECK: inner:
; CHECK-NOT: label %poll
; CHECK: latch:
; CHECK: label %poll
; CHECK: ret i64
define i64 @with_long_nest(i64 %n) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i1, %latch ]
  br label %inner
inner:
  %k = phi i64 [ 0, %outer ], [ %k1, %inner ]
  %k1 = add i64 %k, 1
  %c = icmp ult i64 %k1, 1000
  br i1 %c, label %inner, label %latch
latch:
  %i1 = add i64 %i, 1
  %d = icmp ult i64 %i1, 1000
  br i1 %d, label %outer, label %done
done:
  ret i64 %i
}

; CHECK-LABEL: define i64 @with_unknown_count(
; CHECK: tn__gc_poll
; CHECK: ret i64
define i64 @with_unknown_count(i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %j = add i64 %i, 1
  %c = icmp ult i64 %j, %n
  br i1 %c, label %loop, label %done
done:
  ret i64 %j
}

; The loop is counted, but what it calls, or copies, takes time, as does another loop in it.
; CHECK-LABEL: define void @with_slow_call(
; CHECK: tn__gc_poll
; CHECK: ret void
define void @with_slow_call() {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %j = add i64 %i, 1
  call void @native()
  %c = icmp ult i64 %j, 4
  br i1 %c, label %loop, label %done
done:
  ret void
}

; CHECK-LABEL: define void @with_long_copy(
; CHECK: tn__gc_poll
; CHECK: ret void
define void @with_long_copy(ptr %p, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %j = add i64 %i, 1
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 %n, i1 false)
  %c = icmp ult i64 %j, 4
  br i1 %c, label %loop, label %done
done:
  ret void
}

; CHECK-LABEL: define void @no_short_copy(
; CHECK-NOT: tn__gc_poll
; CHECK: ret void
define void @no_short_copy(ptr %p) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %j = add i64 %i, 1
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 64, i1 false)
  %c = icmp ult i64 %j, 4
  br i1 %c, label %loop, label %done
done:
  ret void
}

; CHECK-LABEL: define void @with_cycle(
; CHECK: tn__gc_poll
; CHECK: ret void
define void @with_cycle(i1 %x, i1 %y) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %latch ]
  br i1 %x, label %a, label %b
a:
  br i1 %y, label %b, label %latch
b:
  br i1 %y, label %a, label %latch
latch:
  %j = add i64 %i, 1
  %c = icmp ult i64 %j, 4
  br i1 %c, label %loop, label %done
done:
  ret void
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; Few instructions that take long.
; CHECK-LABEL: define void @with_wide_division(
; CHECK: call {{.*}}@tn__gc_poll
; CHECK: ret void
define void @with_wide_division(ptr %p) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %a = load i4096, ptr %p
  %b = udiv i4096 %a, 12345
  store i4096 %b, ptr %p
  %next = add nuw nsw i32 %i, 1
  %more = icmp ult i32 %next, 100
  br i1 %more, label %loop, label %done
done:
  ret void
}

; CHECK-LABEL: define void @with_calls_of_pow(
; CHECK: call {{.*}}@tn__gc_poll
; CHECK: ret void
define void @with_calls_of_pow(ptr %p, <64 x double> %x) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %y = call <64 x double> @llvm.pow.v64f64(<64 x double> %x, <64 x double> %x)
  store <64 x double> %y, ptr %p
  %next = add nuw nsw i32 %i, 1
  %more = icmp ult i32 %next, 100
  br i1 %more, label %loop, label %done
done:
  ret void
}

; CHECK-LABEL: define void @with_wide_stores(
; CHECK: call {{.*}}@tn__gc_poll
; CHECK: ret void
define void @with_wide_stores(ptr %p, [64 x i64] %x) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  store volatile [64 x i64] %x, ptr %p
  %next = add nuw nsw i32 %i, 1
  %more = icmp ult i32 %next, 1000
  br i1 %more, label %loop, label %done
done:
  ret void
}
