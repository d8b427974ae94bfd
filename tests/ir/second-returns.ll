; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Where a thread comes back to managed code after a second return: on the way that only that return takes, if the C
; library's setjmp says which one it was; else behind each return.

; RUN: %tenon opt --passes=manage-functions,transitions,place-roots %s | FileCheck %s
; RUN: for level in 0 1 2 3; do %tenon compile -O$level %s -o %t.o; done

target triple = "x86_64-unknown-linux-gnu"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"

declare i32 @setjmp(ptr) returns_twice
declare i32 @_setjmp(ptr) returns_twice
declare i32 @sigsetjmp(ptr, i32) returns_twice
declare i32 @vfork() returns_twice
declare void @work(ptr addrspace(10))

; The branch of the program is used. What only the first return leads to is relocated as ever; what the second one needs
; is in memory.
; CHECK-LABEL: define hidden void @edge.m(
; CHECK: store ptr addrspace(10) %caught, ptr %root
; CHECK: %r = call i32 @_setjmp(ptr %buffer)
; CHECK-NEXT: %c = icmp eq i32 %r, 0
; CHECK-NEXT: br i1 %c, label %try, label %[[AGAIN:[0-9]+]]
; CHECK: try:
; CHECK: @work, ptr addrspace(10) %tried, i32 0, i32 0) [ "gc-live"(ptr addrspace(10) %tried, ptr %root) ]
; CHECK: gc.relocate
; CHECK: [[AGAIN]]:
; CHECK-NEXT: {{.*}}@tn__gc_return_twice, i32 0, i32 0, i32 0, i32 0) [ "gc-live"(ptr %root) ]
; CHECK: br label %catch
; CHECK: load ptr addrspace(10), ptr %root
define void @edge(ptr addrspace(10) %tried, ptr addrspace(10) %caught, ptr %buffer) gc "tenon" {
  %r = call i32 @_setjmp(ptr %buffer)
  %c = icmp eq i32 %r, 0
  br i1 %c, label %try, label %catch
try:
  call void @work(ptr addrspace(10) %tried)
  call void @work(ptr addrspace(10) %tried)
  ret void
catch:
  call void @work(ptr addrspace(10) %caught)
  ret void
}

; CHECK-LABEL: define hidden i64 @other_edge.m(
; CHECK: %r = call i32 @sigsetjmp(ptr %buffer, i32 0)
; CHECK-NEXT: %c = icmp ne i32 %r, 0
; CHECK-NEXT: br i1 %c, label %[[AGAIN:[0-9]+]], label %first
; CHECK: [[AGAIN]]:
; CHECK-NEXT: {{.*}}@tn__gc_return_twice,
; CHECK: both:
; CHECK-NEXT: phi i64 [ 1, %[[AGAIN]] ], [ 0, %first ]
define i64 @other_edge(ptr %buffer) gc "tenon" {
  %r = call i32 @sigsetjmp(ptr %buffer, i32 0)
  %c = icmp ne i32 %r, 0
  br i1 %c, label %both, label %first
first:
  call void @work(ptr addrspace(10) null)
  br label %both
both:
  %p = phi i64 [ 1, %0 ], [ 0, %first ]
  ret i64 %p
}

; The way is made where the program's first branch is another one, or does something before.
; CHECK-LABEL: define hidden i32 @made.m(
; CHECK: %r = call i32 @setjmp(ptr %buffer)
; CHECK-NEXT: [[FIRST:%.*]] = icmp eq i32 %r, 0
; CHECK-NEXT: br i1 [[FIRST]], label %[[REST:[0-9]+]], label %again
; CHECK: again:
; CHECK-NEXT: {{.*}}@tn__gc_return_twice,
; CHECK: [[REST]]:
; CHECK: load i32, ptr addrspace(10)
; CHECK: switch i32
define i32 @made(ptr addrspace(10) %o, ptr %buffer) gc "tenon" {
  %r = call i32 @setjmp(ptr %buffer)
  %v = load i32, ptr addrspace(10) %o
  switch i32 %r, label %more [ i32 0, label %first
                               i32 1, label %second ]
first:
  call void @work(ptr addrspace(10) %o)
  unreachable
second:
  ret i32 %v
more:
  ret i32 2
}

; CHECK-LABEL: define hidden i32 @other_test.m(
; CHECK: call i32 @_setjmp(ptr %buffer)
; CHECK: label %again
; CHECK: again:
; CHECK-NEXT: {{.*}}@tn__gc_return_twice,
; CHECK: icmp sgt i32 %r, 0
define i32 @other_test(ptr %buffer) gc "tenon" {
  %r = call i32 @_setjmp(ptr %buffer)
  %c = icmp sgt i32 %r, 0
  br i1 %c, label %second, label %first
first:
  call void @work(ptr addrspace(10) null)
  ret i32 0
second:
  ret i32 1
}

; Functions that nothing is known of.
; CHECK-LABEL: define hidden i32 @unknown.m(
; CHECK: @tn__gc_call_twice, i32 1, i32 0, ptr nest @vfork,
; CHECK: @tn__gc_return_twice,
; CHECK: @tn__gc_call_twice, i32 2, i32 0, ptr nest @setjmp,
; CHECK: @tn__gc_return_twice,
; CHECK: @tn__gc_call_twice, i32 2, i32 0, ptr nest %f,
; CHECK: @tn__gc_return_twice,
define i32 @unknown(ptr %buffer, ptr %f) gc "tenon" {
  %v = call i32 @vfork()
  %s = call i32 @setjmp(ptr %buffer) nobuiltin
  %p = call i32 %f(ptr %buffer) returns_twice
  ret i32 %s
}
