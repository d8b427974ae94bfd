; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Loops over references get no scalable vectors, which nothing can take apart where polls and barriers are inserted. Other loops do.

; RUN: %tenon opt --passes=loop-vectorize %s -o %t.ll
; RUN: FileCheck %s --input-file=%t.ll --implicit-check-not='vscale x {{[0-9]+}} x ptr addrspace(10)'
; RUN: for polls in none loops all; do %tenon compile -O3 --polls $polls %s -o %t.o; done
; RUN: %tenon compile -O3 --polls=loops --emit=asm %s -o %t.s
; RUN: FileCheck %s --check-prefix=ASM --input-file=%t.s
; REQUIRES: aarch64

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i8:8:32-i16:16:32-i64:64-i128:128-n32:64-S128-Fn32-ni:10:11:12:13"
target triple = "aarch64-unknown-linux-gnu"

; Numbers in an object, whose address is a pointer that each turn moves on.
; CHECK-LABEL: @numbers(
; CHECK: load <vscale x {{[0-9]+}} x i64>, ptr addrspace(11)
; ASM-LABEL: numbers.m:
; ASM: z{{[0-9]+}}.d
define i64 @numbers(ptr addrspace(10) %o, i64 %n) #0 {
entry:
  %first = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %p = phi ptr addrspace(11) [ %first, %entry ], [ %next, %loop ]
  %sum = phi i64 [ 0, %entry ], [ %more, %loop ]
  %x = load i64, ptr addrspace(11) %p
  %more = add i64 %sum, %x
  %next = getelementptr inbounds i8, ptr addrspace(11) %p, i64 8
  %j = add nuw nsw i64 %i, 1
  %again = icmp slt i64 %j, %n
  br i1 %again, label %loop, label %exit
exit:
  ret i64 %more
}

; The reference of the turn before; a choice that is stored.
; CHECK-LABEL: @earlier(
; CHECK: phi <2 x ptr addrspace(10)>
define void @earlier(ptr addrspace(10) noalias nonnull %a, ptr addrspace(10) noalias %b, i64 %n) #0 {
entry:
  %from = addrspacecast ptr addrspace(10) %a to ptr addrspace(11)
  %to = addrspacecast ptr addrspace(10) %b to ptr addrspace(11)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %before = phi ptr addrspace(10) [ null, %entry ], [ %x, %loop ]
  %j = add nuw nsw i64 %i, 1
  %p = getelementptr i64, ptr addrspace(11) %from, i64 %j
  %q = getelementptr i64, ptr addrspace(11) %to, i64 %j
  %x = load ptr addrspace(10), ptr addrspace(11) %p
  %none = icmp eq ptr addrspace(10) %before, null
  %chosen = select i1 %none, ptr addrspace(10) %x, ptr addrspace(10) %before
  store ptr addrspace(10) %chosen, ptr addrspace(11) %q
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

; One reference in all elements, in a loop that asks for scalable vectors; a comparison with one.
; CHECK-LABEL: @fill(
; CHECK: store <{{[0-9]+}} x ptr addrspace(10)>
define void @fill(ptr addrspace(10) %a, ptr addrspace(10) %x, i64 %n) #0 {
entry:
  %to = addrspacecast ptr addrspace(10) %a to ptr addrspace(11)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %j = add nuw nsw i64 %i, 1
  %q = getelementptr i64, ptr addrspace(11) %to, i64 %j
  store ptr addrspace(10) %x, ptr addrspace(11) %q
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %exit, !llvm.loop !0
exit:
  ret void
}
; CHECK-LABEL: @count(
define i64 @count(ptr addrspace(10) %a, ptr addrspace(10) %x, i64 %n) #0 {
entry:
  %from = addrspacecast ptr addrspace(10) %a to ptr addrspace(11)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %sum = phi i64 [ 0, %entry ], [ %next, %loop ]
  %j = add nuw nsw i64 %i, 1
  %p = getelementptr i64, ptr addrspace(11) %from, i64 %j
  %y = load ptr addrspace(10), ptr addrspace(11) %p
  %same = icmp eq ptr addrspace(10) %x, %y
  %one = zext i1 %same to i64
  %next = add i64 %sum, %one
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  ret i64 %next
}

attributes #0 = { "target-cpu"="neoverse-v1" }

!0 = distinct !{!0, !1, !2}
!1 = !{!"llvm.loop.vectorize.scalable.enable", i1 true}
!2 = !{!"llvm.loop.vectorize.width", i32 2}
