; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Polls once in many turns: loops that count are split into strips. Each function whose name begins with `strip_` has its
; poll in a block between strips, each that begins with `each_` has one in each turn.

; RUN: %tenon opt --passes=insert-polls --polls=loops --stats %s -o %t.ll 2>%t.stats
; RUN: FileCheck %s --input-file=%t.ll
; RUN: FileCheck %s --check-prefix=STATS --input-file=%t.stats
; STATS: 6 polls once in many turns
; RUN: %tenon opt --passes='tenon<level=2;no_poll_elimination>' --polls=loops --stats %s 2>&1 >/dev/null | FileCheck %s --check-prefix=OFF
; OFF: {{^ *}}0 polls once in many turns
; The number of turns is what it was, at the ends of the counters' types too.
; RUN: %tenon run -O0 %t.ll
; RUN: %tenon run -O0 %s
; RUN: %tenon run -O2 --polls=loops %s

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"
declare void @julia.safepoint(ptr)
declare ptr addrspace(10) @julia.gc_alloc_obj(ptr, i64, ptr addrspace(10))

; The strip ends after so many turns or at the bound; the phi of the sum goes through the block between strips.
; CHECK-LABEL: define i64 @strip_sum(
; CHECK: br label %strip
; CHECK: strip:
; CHECK-NEXT: [[I:%[0-9]+]] = phi i64 [ 0, %entry ], [ %j, %[[LAST:[a-z0-9.]+]] ]
; CHECK-NEXT: [[S:%[0-9]+]] = phi i64 [ 0, %entry ], [ %t, %[[LAST]] ]
; CHECK-NEXT: [[NEXT:%[0-9]+]] = add i64 [[I]], 1
; CHECK-NEXT: [[LEFT:%[0-9]+]] = sub i64 %n, [[NEXT]]
; CHECK-NEXT: [[IN:%[0-9]+]] = icmp ult i64 [[NEXT]], %n
; CHECK-NEXT: [[SAFE:%[0-9]+]] = select i1 [[IN]], i64 [[LEFT]], i64 0
; CHECK-NEXT: [[TURNS:%[0-9]+]] = call i64 @llvm.umin.i64(i64 [[SAFE]], i64 2730)
; CHECK-NEXT: [[LIMIT:%[0-9]+]] = add i64 [[NEXT]], [[TURNS]]
; CHECK: loop:
; CHECK-NEXT: %i = phi i64 [ %j, %loop ], [ [[I]], %strip ]
; CHECK-NEXT: %s = phi i64 [ %t, %loop ], [ [[S]], %strip ]
; CHECK-NOT: poll
; CHECK: [[MORE:%[0-9]+]] = icmp ult i64 %j, [[LIMIT]]
; CHECK-NEXT: br i1 [[MORE]], label %loop, label %strip.end
; CHECK: strip.end:
; CHECK-NEXT: [[AGAIN:%[0-9]+]] = icmp ult i64 %j, %n
; CHECK-NEXT: br i1 [[AGAIN]], label %strip.again, label %done
; CHECK: strip.again:
; CHECK: label %poll
; CHECK: %r = phi i64 [ %t, %strip.end ]
define i64 @strip_sum(i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %s = phi i64 [ 0, %entry ], [ %t, %loop ]
  %t = add i64 %s, 1
  %j = add nuw i64 %i, 1
  %c = icmp ult i64 %j, %n
  br i1 %c, label %loop, label %done
done:
  %r = phi i64 [ %t, %loop ]
  ret i64 %r
}

; A signed counter of another width and step, the test turned round, and two ways to the loop.
; CHECK-LABEL: define i64 @strip_signed(
; CHECK: strip:
; CHECK-NEXT: phi i32 [ %from, %entry ], [ %to, %other ], [ %j,
; CHECK: icmp slt i32
; CHECK: strip.end:
; CHECK: label %poll
define i64 @strip_signed(i32 %from, i32 %to) {
entry:
  %d = icmp slt i32 %from, %to
  br i1 %d, label %loop, label %other
other:
  br label %loop
loop:
  %i = phi i32 [ %from, %entry ], [ %to, %other ], [ %j, %loop ]
  %s = phi i64 [ 0, %entry ], [ 0, %other ], [ %t, %loop ]
  %t = add i64 %s, 1
  %j = add nsw i32 %i, 3
  %c = icmp sle i32 %to, %j
  br i1 %c, label %done, label %loop
done:
  ret i64 %t
}

; Until the counter is the bound, in steps of 4 that meet it, as vector code counts.
; CHECK-LABEL: define i64 @strip_vector(
; CHECK: strip:
; CHECK-NOT: select
; CHECK: loop:
; CHECK: icmp ne i64 %j,
; CHECK: strip.end:
define i64 @strip_vector(i64 %n) {
entry:
  %m = and i64 %n, -4
  %none = icmp eq i64 %m, 0
  br i1 %none, label %done, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %s = phi i64 [ 0, %entry ], [ %t, %loop ]
  %t = add i64 %s, 1
  %j = add nuw i64 %i, 4
  %c = icmp eq i64 %j, %m
  br i1 %c, label %done, label %loop
done:
  %r = phi i64 [ 0, %entry ], [ %t, %loop ]
  ret i64 %r
}

; The bound lies between two values of the counter, which goes past it; a strip has whole turns, so it ends all the same.
; CHECK-LABEL: define i64 @strip_missed(
; CHECK: strip:
; CHECK: [[LEFT:%[0-9]+]] = sub i32 %n, [[NEXT:%[0-9]+]]
; CHECK-NEXT: [[PART:%[0-9]+]] = urem i32 [[LEFT]], 3
; CHECK-NEXT: [[WHOLE:%[0-9]+]] = sub i32 [[LEFT]], [[PART]]
; CHECK-NEXT: call i32 @llvm.umin.i32(i32 [[WHOLE]],
; CHECK: strip.end:
define i64 @strip_missed(i32 %n, i32 %stop) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %go ]
  %s = phi i64 [ 0, %entry ], [ %t, %go ]
  %stops = icmp uge i32 %i, %stop
  br i1 %stops, label %done, label %go
go:
  %t = add i64 %s, 1
  %j = add i32 %i, 3
  %c = icmp ne i32 %j, %n
  br i1 %c, label %loop, label %done
done:
  %r = phi i64 [ %s, %loop ], [ %t, %go ]
  ret i64 %r
}

; Another exit stays one. The outer loop's turns take too long for strips, so it polls in each.
; CHECK-LABEL: define i64 @strip_inner(
; CHECK: strip.end:
; CHECK: strip.again:
; CHECK: latch:
; CHECK: label %poll
; CHECK-NOT: strip.end
; CHECK: ret i64
define i64 @strip_inner(i64 %n, ptr %p) {
entry:
  br label %outer
outer:
  %o = phi i64 [ 0, %entry ], [ %o1, %latch ]
  br label %inner
inner:
  %i = phi i64 [ 0, %outer ], [ %j, %more ]
  %at = getelementptr i8, ptr %p, i64 %i
  %b = load i8, ptr %at
  %found = icmp eq i8 %b, 0
  br i1 %found, label %latch, label %more
more:
  %j = add nuw i64 %i, 1
  %c = icmp ult i64 %j, %n
  br i1 %c, label %inner, label %latch
latch:
  %o1 = add nuw i64 %o, 1
  %d = icmp ult i64 %o1, %n
  br i1 %d, label %outer, label %done
done:
  ret i64 %o1
}

; A reference that the loop carries goes through the block between strips, and is moved by the poll there.
; CHECK-LABEL: define ptr addrspace(10) @strip_list(
; CHECK: strip:
; CHECK: phi ptr addrspace(10) [ %list, %entry ], [ %next, %
define ptr addrspace(10) @strip_list(ptr addrspace(10) %list, i64 %n) {
entry:
  br label %loop
loop:
  %l = phi ptr addrspace(10) [ %list, %entry ], [ %next, %loop ]
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %next = load ptr addrspace(10), ptr addrspace(10) %l
  %j = add nuw i64 %i, 1
  %c = icmp ult i64 %j, %n
  br i1 %c, label %loop, label %done
done:
  ret ptr addrspace(10) %next
}

; ---- one poll in each turn ----

; The last block of both loops is one: the strip's end would lead to another turn of the outer loop without a poll.
; CHECK-LABEL: define void @each_shared(
; CHECK-NOT: strip
; CHECK: ret void
define void @each_shared(i64 %n, i1 %x) {
entry:
  br label %outer
outer:
  br label %inner
inner:
  %i = phi i64 [ 0, %outer ], [ %j, %latch ]
  br i1 %x, label %latch, label %done
latch:
  %j = add nuw i64 %i, 1
  %c = icmp ult i64 %j, %n
  br i1 %c, label %inner, label %outer
done:
  ret void
}

; A cycle with two entries, through the loop's exit.
; CHECK-LABEL: define void @each_cycle(
; CHECK-NOT: strip
; CHECK: ret void
define void @each_cycle(i64 %n, i1 %x, i1 %y) {
entry:
  br i1 %x, label %a, label %loop
a:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ 0, %a ], [ %j, %loop ], [ 0, %b ]
  %j = add nuw i64 %i, 1
  %c = icmp ult i64 %j, %n
  br i1 %c, label %loop, label %exit
exit:
  br i1 %y, label %b, label %c1
b:
  br i1 %x, label %c1, label %loop
c1:
  br i1 %y, label %b, label %done
done:
  ret void
}

; The counter may jump over the bound and begin again; counts down; the bound is computed anew; the
; turn has a call, or takes long; the type is small.
; CHECK-LABEL: define void @each_others(
; CHECK-NOT: strip
; CHECK: ret void
define void @each_others(i64 %n, ptr %p, i8 %m) {
entry:
  br label %wraps
wraps:
  %a = phi i64 [ 0, %entry ], [ %a1, %wraps ]
  %a1 = add i64 %a, 2
  %ac = icmp ult i64 %a1, %n
  br i1 %ac, label %wraps, label %down
down:
  %d = phi i64 [ %n, %wraps ], [ %d1, %down ]
  %d1 = add nsw i64 %d, -1
  %dc = icmp sgt i64 %d1, 7
  br i1 %dc, label %down, label %anew
anew:
  %e = phi i64 [ 0, %down ], [ %e1, %anew ]
  %e1 = add nuw i64 %e, 1
  %bound = load i64, ptr %p
  %ec = icmp ult i64 %e1, %bound
  br i1 %ec, label %anew, label %calls
calls:
  %f = phi i64 [ 0, %anew ], [ %f1, %calls ]
  call void @callee()
  %f1 = add nuw i64 %f, 1
  %fc = icmp ult i64 %f1, %n
  br i1 %fc, label %calls, label %long
long:
  %g = phi i64 [ 0, %calls ], [ %g1, %long ]
  call void @llvm.memset.p0.i64(ptr %p, i8 1, i64 10000, i1 false)
  %g1 = add nuw i64 %g, 1
  %gc = icmp ult i64 %g1, %n
  br i1 %gc, label %long, label %done
done:
  ret void
}
define void @callee() {
  ret void
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; ---- the number of turns ----

define i1 @sums() {
  %a = call i64 @strip_sum(i64 0)
  %a1 = icmp eq i64 %a, 1
  %b = call i64 @strip_sum(i64 1)
  %b1 = icmp eq i64 %b, 1
  %c = call i64 @strip_sum(i64 2730)
  %c1 = icmp eq i64 %c, 2730
  %d = call i64 @strip_sum(i64 2731)
  %d1 = icmp eq i64 %d, 2731
  %e = call i64 @strip_sum(i64 2732)
  %e1 = icmp eq i64 %e, 2732
  %f = call i64 @strip_sum(i64 1000000)
  %f1 = icmp eq i64 %f, 1000000
  %ab = and i1 %a1, %b1
  %cd = and i1 %c1, %d1
  %ef = and i1 %e1, %f1
  %abcd = and i1 %ab, %cd
  %all = and i1 %abcd, %ef
  ret i1 %all
}

define i1 @others() {
  %a = call i64 @strip_signed(i32 -2147483648, i32 2147483644)
  %a1 = icmp eq i64 %a, 1431655764
  %b = call i64 @strip_signed(i32 5, i32 5)
  %b1 = icmp eq i64 %b, 1
  %c = call i64 @strip_signed(i32 6, i32 5)
  %c1 = icmp eq i64 %c, 1
  %d = call i64 @strip_signed(i32 -10000, i32 10000)
  %d1 = icmp eq i64 %d, 6667
  %e = call i64 @strip_vector(i64 3)
  %e1 = icmp eq i64 %e, 0
  %f = call i64 @strip_vector(i64 100007)
  %f1 = icmp eq i64 %f, 25001
  %ab = and i1 %a1, %b1
  %cd = and i1 %c1, %d1
  %ef = and i1 %e1, %f1
  %abcd = and i1 %ab, %cd
  %all = and i1 %abcd, %ef
  ret i1 %all
}

define i1 @missed() {
  %a = call i64 @strip_missed(i32 10, i32 30000)
  %a1 = icmp eq i64 %a, 10000
  %b = call i64 @strip_missed(i32 9, i32 30000)
  %b1 = icmp eq i64 %b, 3
  %c = call i64 @strip_missed(i32 29999, i32 30000)
  %c1 = icmp eq i64 %c, 10000
  %d = call i64 @strip_missed(i32 29997, i32 30000)
  %d1 = icmp eq i64 %d, 9999
  %e = call i64 @strip_missed(i32 1, i32 30000)
  %e1 = icmp eq i64 %e, 10000
  %ab = and i1 %a1, %b1
  %cd = and i1 %c1, %d1
  %abcd = and i1 %ab, %cd
  %all = and i1 %abcd, %e1
  ret i1 %all
}

define i32 @main() {
  %a = call i1 @sums()
  %b = call i1 @others()
  %c = call i1 @missed()
  %ab = and i1 %a, %b
  %abc = and i1 %ab, %c
  %wrong = xor i1 %abc, true
  %status = zext i1 %wrong to i32
  ret i32 %status
}
