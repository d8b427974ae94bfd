; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; What lives behind a call is in gc-live and relocated; uses behind it see the relocated value.

; RUN: %tenon opt --passes=place-roots --stats %s 2>%t.stats | FileCheck %s --implicit-check-not='gc.relocate.p{{1.}}(token %'
; RUN: FileCheck %s --check-prefix=STATS --input-file=%t.stats

declare void @native(ptr addrspace(10))
declare void @leaf(ptr addrspace(10)) "gc-leaf-function"
declare i64 @managed(i64) gc "tenon"

; CHECK-LABEL: define i64 @live(
; CHECK: [[SP:%.*]] = call token {{.*}} @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(void (ptr, ptr addrspace(10))) @tn__gc_call_native, i32 2, i32 0, ptr nest @native, ptr addrspace(10) %dead, i32 0, i32 0) [ "gc-live"(ptr addrspace(10) %o) ]
; CHECK: [[R:%.*]] = call ptr addrspace(10) @llvm.experimental.gc.relocate.p10(token [[SP]], i32 0, i32 0)
; CHECK: load i64, ptr addrspace(10) [[R]]
define i64 @live(ptr addrspace(10) %o, ptr addrspace(10) %dead) gc "tenon" {
  call void @native(ptr addrspace(10) %dead)
  %v = load i64, ptr addrspace(10) %o
  ret i64 %v
}

; A call of a leaf stays a call.
; CHECK-LABEL: define i64 @no_safepoint(
; CHECK: call void @leaf(ptr addrspace(10) %o)
define i64 @no_safepoint(ptr addrspace(10) %o) gc "tenon" {
  call void @leaf(ptr addrspace(10) %o)
  call void @native(ptr addrspace(10) %o) "gc-leaf-function"
  %v = load i64, ptr addrspace(10) %o
  ret i64 %v
}

; Managed callees are called as they are.
; CHECK-LABEL: define i64 @direct(
; CHECK: ptr elementtype(i64 (i64)) @managed, i32 1, i32 0, i64 3, i32 0, i32 0)
; CHECK: gc.result.i64
define i64 @direct() gc "tenon" {
  %v = call i64 @managed(i64 3)
  ret i64 %v
}

; A derived pointer at a fixed distance is computed anew; one at another distance takes its base along.
; CHECK-LABEL: define i64 @derived(
; CHECK: "gc-live"(ptr addrspace(10) %o, ptr addrspace(11) %far)
; CHECK: [[B:%.*]] = call ptr addrspace(10) @llvm.experimental.gc.relocate.p10(token %{{.*}}, i32 0, i32 0)
; CHECK: [[D:%.*]] = call ptr addrspace(11) @llvm.experimental.gc.relocate.p11(token %{{.*}}, i32 0, i32 1)
; CHECK: [[C:%.*]] = addrspacecast ptr addrspace(10) [[B]] to ptr addrspace(11)
; CHECK: [[N:%.*]] = getelementptr i8, ptr addrspace(11) [[C]], i64 24
; CHECK: load i64, ptr addrspace(11) [[N]]
; CHECK: load i64, ptr addrspace(11) [[D]]
define i64 @derived(ptr addrspace(10) %o, i64 %n) gc "tenon" {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %near = getelementptr i64, ptr addrspace(11) %d, i64 3
  %far = getelementptr i64, ptr addrspace(11) %d, i64 %n
  call void @native(ptr addrspace(10) null)
  %a = load i64, ptr addrspace(11) %near
  %b = load i64, ptr addrspace(11) %far
  %s = add i64 %a, %b
  ret i64 %s
}

; Phis and selects of derived pointers get twins of their bases.
; CHECK-LABEL: define i64 @choice(
; CHECK: %base = select i1 %c, ptr addrspace(10) %o, ptr addrspace(10) %p
; CHECK: "gc-live"(ptr addrspace(10) %base, ptr addrspace(11) %d)
; CHECK: gc.relocate.p10(token %{{.*}}, i32 0, i32 0)
; CHECK: gc.relocate.p11(token %{{.*}}, i32 0, i32 1)
define i64 @choice(i1 %c, ptr addrspace(10) %o, ptr addrspace(10) %p, i64 %n) gc "tenon" {
  %od = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %pd = addrspacecast ptr addrspace(10) %p to ptr addrspace(11)
  %on = getelementptr i8, ptr addrspace(11) %od, i64 %n
  %d = select i1 %c, ptr addrspace(11) %on, ptr addrspace(11) %pd
  call void @native(ptr addrspace(10) null)
  %v = load i64, ptr addrspace(11) %d
  ret i64 %v
}

; A phi of bases that is there already serves, and so does that of another derived pointer.
; CHECK-LABEL: define i64 @walk(
; CHECK: loop:
; CHECK-NEXT: [[B:%.*]] = phi ptr addrspace(10) [ %b
; CHECK-NEXT: [[O:%.*]] = phi ptr addrspace(10) [ %a
; CHECK-NEXT: [[D:%.*]] = phi ptr addrspace(11)
; CHECK-NEXT: [[E:%.*]] = phi ptr addrspace(11)
; CHECK-NEXT: %i = phi
; CHECK: "gc-live"(ptr addrspace(10) [[B]], ptr addrspace(10) [[O]], ptr addrspace(11) [[D]], ptr addrspace(11) [[E]])
; CHECK-COUNT-2: gc.relocate.p10(
; CHECK-COUNT-2: gc.relocate.p11(
define i64 @walk(ptr addrspace(10) %a, ptr addrspace(10) %b, i1 %c, i64 %n) gc "tenon" {
entry:
  %da = addrspacecast ptr addrspace(10) %a to ptr addrspace(11)
  %far = getelementptr i8, ptr addrspace(11) %da, i64 %n
  %db = addrspacecast ptr addrspace(10) %b to ptr addrspace(11)
  br label %loop
loop:
  %o = phi ptr addrspace(10) [ %a, %entry ], [ %next, %loop ]
  %d = phi ptr addrspace(11) [ %far, %entry ], [ %dnext, %loop ]
  %e = phi ptr addrspace(11) [ %da, %entry ], [ %enext, %loop ]
  %i = phi i64 [ 0, %entry ], [ %k, %loop ]
  call void @native(ptr addrspace(10) null)
  %next = select i1 %c, ptr addrspace(10) %o, ptr addrspace(10) %b
  %dstep = getelementptr i8, ptr addrspace(11) %d, i64 8
  %dnext = select i1 %c, ptr addrspace(11) %dstep, ptr addrspace(11) %db
  %estep = getelementptr i8, ptr addrspace(11) %e, i64 16
  %enext = select i1 %c, ptr addrspace(11) %estep, ptr addrspace(11) %db
  %v = load i64, ptr addrspace(11) %d
  %w = load i64, ptr addrspace(11) %e
  %j = add i64 %v, %w
  %k = add i64 %i, %j
  br i1 %c, label %loop, label %done
done:
  ret i64 %k
}

; In a loop what comes round is what the last safepoint left.
; CHECK-LABEL: define void @loop(
; CHECK: loop:
; CHECK: [[PHI:%.*]] = phi ptr addrspace(10) [ %o, %entry ], [ [[REL:%.*]], %loop ]
; CHECK: ptr addrspace(10) [[PHI]], i32 0, i32 0) [ "gc-live"(ptr addrspace(10) [[PHI]]) ]
; CHECK: [[REL]] = call ptr addrspace(10) @llvm.experimental.gc.relocate.p10(
define void @loop(ptr addrspace(10) %o, i1 %c) gc "tenon" {
entry:
  br label %loop
loop:
  call void @native(ptr addrspace(10) %o)
  br i1 %c, label %loop, label %done
done:
  ret void
}

; Permanent objects and null need no root.
; CHECK-LABEL: define i64 @permanent(
; CHECK: @native, ptr addrspace(10) null, i32 0, i32 0){{$}}
define i64 @permanent(ptr %raw) gc "tenon" {
  %o = addrspacecast ptr %raw to ptr addrspace(10)
  call void @native(ptr addrspace(10) null)
  %v = load i64, ptr addrspace(10) %o
  ret i64 %v
}

; What was loaded before a safepoint is not what is there behind it, so a reference is never invariant; numbers may be.
; CHECK-LABEL: define i64 @invariant(
; CHECK: load ptr addrspace(10), ptr @slot, align 8{{$}}
; CHECK: load ptr addrspace(10), ptr @slot, align 8{{$}}
; CHECK: load ptr addrspace(10), ptr @slot, align 8, !tbaa
; CHECK: load i64, ptr addrspace(10) %{{.*}}, align 8, !tbaa !{{[0-9]+}}, !invariant.load
@slot = external global ptr addrspace(10)
define i64 @invariant() gc "tenon" {
  call void @native(ptr addrspace(10) null)
  %a = load ptr addrspace(10), ptr @slot, !invariant.load !0
  %b = load ptr addrspace(10), ptr @slot, !tbaa !1
  %c = load ptr addrspace(10), ptr @slot, !tbaa !4
  %n = load i64, ptr addrspace(10) %a, !tbaa !1, !invariant.load !0
  call void @leaf(ptr addrspace(10) %b)
  call void @leaf(ptr addrspace(10) %c)
  ret i64 %n
}
!0 = !{}
!1 = !{!2, !2, i64 0, i64 1}
!2 = !{!"constant", !3}
!3 = !{!"root"}
!4 = !{!2, !2, i64 0}

; CHECK: attributes {{.*}} "frame-pointer"="all" "no-realign-stack"

; STATS: 8 safepoints
; STATS: 6 live references
; STATS: 4 live derived pointers
; STATS: 1 phis and selects of bases
