; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; alloc-opt through phis and selects. Functions whose names begin with `gone_` have no allocation any more, those that
; begin with `kept_` have all of them.

; RUN: %tenon opt --stats --passes=alloc-opt %s -o %t.ll 2>%t.stats
; RUN: FileCheck %s --input-file=%t.ll
; RUN: FileCheck %s --input-file=%t.stats --check-prefix=STATS
; STATS: 7 choices split into fields
; RUN: %tenon opt --passes=gc-verify-strong %t.ll -o /dev/null
; RUN: %tenon compile -O2 %s -o %t.o
; RUN: %tenon opt --stats --passes='tenon<level=2;no_alloc_opt>' %s 2>&1 >/dev/null | FileCheck %s --check-prefix=OFF
; OFF: {{^ *}}0 choices split into fields

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"
declare ptr addrspace(10) @julia.gc_alloc_obj(ptr, i64, ptr addrspace(10))
declare ptr addrspace(10) @julia.typeof(ptr addrspace(10))
declare void @julia.write_barrier(ptr addrspace(10), ...)
declare void @llvm.memset.p11.i64(ptr addrspace(11), i8, i64, i1)
declare void @native()
declare void @takes(ptr addrspace(10))

; A loop that makes a new object of the last turn's: the read is conditional, so LLVM would not do it.
; CHECK-LABEL: @gone_loop(
; CHECK-NOT: gc_alloc_obj
; CHECK: head:
; CHECK-NEXT: %i = phi
; CHECK-NEXT: [[FIELD:%field[0-9]*]] = phi i64 [ %chosen{{[0-9]*}}, %entry ], [ %chosen{{[0-9]*}}, %latch ]
; CHECK-NOT: phi ptr
; CHECK: odd:
; CHECK-NOT: load
; CHECK: add i64 [[FIELD]], %i
; CHECK: ret i64
define i64 @gone_loop(ptr %task, ptr addrspace(10) %tag, i64 %n) {
entry:
  %first = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %f = addrspacecast ptr addrspace(10) %first to ptr addrspace(11)
  store i64 7, ptr addrspace(11) %f
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %o = phi ptr addrspace(10) [ %first, %entry ], [ %new, %latch ]
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %is = trunc i64 %i to i1
  br i1 %is, label %odd, label %latch
odd:
  %v = load i64, ptr addrspace(11) %d
  %s = add i64 %v, %i
  br label %latch
latch:
  %x = phi i64 [ %s, %odd ], [ 1, %head ]
  %new = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %e = addrspacecast ptr addrspace(10) %new to ptr addrspace(11)
  store i64 %x, ptr addrspace(11) %e
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %head, label %done
done:
  ret i64 %x
}

; A select, of pointers into two objects, with a reference; the type is known.
; CHECK-LABEL: @gone_select(
; CHECK-NOT: gc_alloc_obj
; CHECK: [[A:%chosen[0-9]*]] = load ptr addrspace(10)
; CHECK: [[B:%chosen[0-9]*]] = load ptr addrspace(10)
; CHECK: select i1 %c, ptr addrspace(10) [[A]], ptr addrspace(10) [[B]]
; CHECK: call void @takes(ptr addrspace(10) %tag)
define ptr addrspace(10) @gone_select(ptr %task, ptr addrspace(10) %tag, i1 %c, ptr addrspace(10) %r) {
  %a = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 24, ptr addrspace(10) %tag)
  %b = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 24, ptr addrspace(10) %tag)
  %da = addrspacecast ptr addrspace(10) %a to ptr addrspace(11)
  %db = addrspacecast ptr addrspace(10) %b to ptr addrspace(11)
  %fa = getelementptr i8, ptr addrspace(11) %da, i64 8
  %fb = getelementptr i8, ptr addrspace(11) %db, i64 8
  store ptr addrspace(10) %r, ptr addrspace(11) %fa
  store ptr addrspace(10) %tag, ptr addrspace(11) %fb
  call void (ptr addrspace(10), ...) @julia.write_barrier(ptr addrspace(10) %a, ptr addrspace(10) %r)
  %o = select i1 %c, ptr addrspace(10) %a, ptr addrspace(10) %b
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %f = getelementptr i8, ptr addrspace(11) %d, i64 8
  call void @native()
  %t = call ptr addrspace(10) @julia.typeof(ptr addrspace(10) %o)
  call void @takes(ptr addrspace(10) %t)
  %v = load ptr addrspace(10), ptr addrspace(11) %f
  ret ptr addrspace(10) %v
}

; Choices of choices, in circles; one place is reached from two sides; a switch that leads twice to a phi.
; CHECK-LABEL: @gone_circle(
; CHECK-NOT: gc_alloc_obj
; CHECK-NOT: phi ptr
; CHECK: ret i64
define i64 @gone_circle(ptr %task, ptr addrspace(10) %tag, i64 %n, i32 %k) {
entry:
  %a = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %da = addrspacecast ptr addrspace(10) %a to ptr addrspace(11)
  call void @llvm.memset.p11.i64(ptr addrspace(11) %da, i8 1, i64 16, i1 false)
  switch i32 %k, label %other [ i32 1, label %outer
                                i32 2, label %outer ]
other:
  %b = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %db = addrspacecast ptr addrspace(10) %b to ptr addrspace(11)
  store i64 %n, ptr addrspace(11) %db
  br label %outer
outer:
  %o = phi ptr addrspace(10) [ %a, %entry ], [ %a, %entry ], [ %b, %other ], [ %p, %latch ]
  %i = phi i64 [ 0, %entry ], [ 0, %entry ], [ 0, %other ], [ %i1, %latch ]
  br label %inner
inner:
  %p = phi ptr addrspace(10) [ %o, %outer ], [ %q, %inner ]
  %odd = trunc i64 %i to i1
  %q = select i1 %odd, ptr addrspace(10) %p, ptr addrspace(10) %o
  %dp = addrspacecast ptr addrspace(10) %p to ptr addrspace(11)
  %v = load i64, ptr addrspace(11) %dp
  %c = icmp eq i64 %v, %i
  br i1 %c, label %inner, label %latch
latch:
  %i1 = add i64 %i, %v
  %m = icmp ult i64 %i1, %n
  br i1 %m, label %outer, label %done
done:
  ret i64 %i1
}

; Derived pointers are chosen, to another field of each.
; CHECK-LABEL: @gone_places(
; CHECK-NOT: gc_alloc_obj
; CHECK: select i1 %c, i64
; CHECK: ret i64
define i64 @gone_places(ptr %task, ptr addrspace(10) %tag, i1 %c) {
  %a = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 24, ptr addrspace(10) %tag)
  %d = addrspacecast ptr addrspace(10) %a to ptr addrspace(11)
  %f = getelementptr i8, ptr addrspace(11) %d, i64 8
  store i64 1, ptr addrspace(11) %d
  store i64 2, ptr addrspace(11) %f
  %o = select i1 %c, ptr addrspace(11) %d, ptr addrspace(11) %f
  %v = load i64, ptr addrspace(11) %o
  %g = getelementptr i8, ptr addrspace(11) %o, i64 8
  %w = load i64, ptr addrspace(11) %g
  %s = add i64 %v, %w
  ret i64 %s
}

; What is read well aligned on the way that reads it is not aligned so on the other way.
; CHECK-LABEL: @gone_alignment(
; CHECK-NOT: gc_alloc_obj
; CHECK: load i64, {{.*}}, align 8
; CHECK: load i64, {{.*}}, align 4
; CHECK: select i1 %c, i64
define i64 @gone_alignment(ptr %task, ptr addrspace(10) %tag, i1 %c) {
  %a = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 24, ptr addrspace(10) %tag)
  %d = addrspacecast ptr addrspace(10) %a to ptr addrspace(11)
  %f = getelementptr i8, ptr addrspace(11) %d, i64 12
  store i64 1, ptr addrspace(11) %d
  store i32 2, ptr addrspace(11) %f
  %o = select i1 %c, ptr addrspace(11) %d, ptr addrspace(11) %f
  br i1 %c, label %reads, label %other
reads:
  %v = load i64, ptr addrspace(11) %o, align 16
  ret i64 %v
other:
  ret i64 2
}

; ---- objects that stay ----

; On one way the place holds a reference, which must not be read from the other one, where it holds a number.
; CHECK-LABEL: @kept_word(
; CHECK: select i1 %c, ptr addrspace(11)
define ptr addrspace(10) @kept_word(ptr %task, ptr addrspace(10) %tag, i1 %c) {
  %a = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %d = addrspacecast ptr addrspace(10) %a to ptr addrspace(11)
  %f = getelementptr i8, ptr addrspace(11) %d, i64 8
  store ptr addrspace(10) %tag, ptr addrspace(11) %d
  store i64 2, ptr addrspace(11) %f
  %o = select i1 %c, ptr addrspace(11) %d, ptr addrspace(11) %f
  call void @native()
  br i1 %c, label %reads, label %other
reads:
  %v = load ptr addrspace(10), ptr addrspace(11) %o
  ret ptr addrspace(10) %v
other:
  ret ptr addrspace(10) %tag
}

; The object is written after it was chosen.
; CHECK-LABEL: @kept_written(
; CHECK: select i1 %c, ptr addrspace(10) %a, ptr addrspace(10) %b
define i64 @kept_written(ptr %task, ptr addrspace(10) %tag, i1 %c) {
  %a = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %b = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %da = addrspacecast ptr addrspace(10) %a to ptr addrspace(11)
  store i64 1, ptr addrspace(11) %da
  %o = select i1 %c, ptr addrspace(10) %a, ptr addrspace(10) %b
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  store i64 2, ptr addrspace(11) %da
  %v = load i64, ptr addrspace(11) %d
  ret i64 %v
}

; It is written in a later turn of the loop, in which it is the same object; what is read is the last turn's choice.
; CHECK-LABEL: @kept_turns(
; CHECK: phi ptr addrspace(10)
define i64 @kept_turns(ptr %task, ptr addrspace(10) %tag, i64 %n) {
entry:
  %a = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %b = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %da = addrspacecast ptr addrspace(10) %a to ptr addrspace(11)
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %head ]
  %o = phi ptr addrspace(10) [ %b, %entry ], [ %a, %head ]
  store i64 %i, ptr addrspace(11) %da
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %v = load i64, ptr addrspace(11) %d
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %head, label %done
done:
  ret i64 %v
}

; What is chosen is written, compared, passed, read outside, atomic or at a variable place; or one of the objects has
; another type, or is none of this function.
; CHECK-LABEL: @kept_others(
; CHECK-COUNT-7: select i1 %c, ptr addrspace(10)
define i64 @kept_others(ptr %task, ptr addrspace(10) %tag, i1 %c, ptr addrspace(10) %r, i64 %n) {
  %a = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %b = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %written = select i1 %c, ptr addrspace(10) %a, ptr addrspace(10) %b
  %dw = addrspacecast ptr addrspace(10) %written to ptr addrspace(11)
  store i64 1, ptr addrspace(11) %dw
  %a2 = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %b2 = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %compared = select i1 %c, ptr addrspace(10) %a2, ptr addrspace(10) %b2
  %same = icmp eq ptr addrspace(10) %compared, %r
  %a3 = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %b3 = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %passed = select i1 %c, ptr addrspace(10) %a3, ptr addrspace(10) %b3
  call void @takes(ptr addrspace(10) %passed)
  %a4 = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %b4 = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %beyond = select i1 %c, ptr addrspace(10) %a4, ptr addrspace(10) %b4
  %d4 = addrspacecast ptr addrspace(10) %beyond to ptr addrspace(11)
  %f4 = getelementptr i8, ptr addrspace(11) %d4, i64 12
  %v4 = load i64, ptr addrspace(11) %f4, align 4
  %a5 = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %b5 = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %somewhere = select i1 %c, ptr addrspace(10) %a5, ptr addrspace(10) %b5
  %d5 = addrspacecast ptr addrspace(10) %somewhere to ptr addrspace(11)
  %f5 = getelementptr i64, ptr addrspace(11) %d5, i64 %n
  %v5 = load i64, ptr addrspace(11) %f5
  %a6 = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %b6 = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %r)
  %types = select i1 %c, ptr addrspace(10) %a6, ptr addrspace(10) %b6
  %d6 = addrspacecast ptr addrspace(10) %types to ptr addrspace(11)
  %v6 = load i64, ptr addrspace(11) %d6
  %a7 = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %foreign = select i1 %c, ptr addrspace(10) %a7, ptr addrspace(10) %r
  %d7 = addrspacecast ptr addrspace(10) %foreign to ptr addrspace(11)
  %v7 = load i64, ptr addrspace(11) %d7
  %s = add i64 %v4, %v5
  %s1 = add i64 %s, %v6
  %s2 = add i64 %s1, %v7
  %z = zext i1 %same to i64
  %s3 = add i64 %s2, %z
  ret i64 %s3
}
