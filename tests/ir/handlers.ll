; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; lower-handlers: one buffer per depth, a call of __sigsetjmp for each except_enter.

; RUN: rm -rf %t && split-file %s %t
; RUN: %tenon opt --passes=lower-handlers --stats %t/good.ll -o %t/out.ll 2>%t/stats
; RUN: FileCheck %s --input-file=%t/out.ll --implicit-check-not=except_enter
; RUN: FileCheck %s --check-prefix=STATS --input-file=%t/stats
; STATS: 6 handlers
; RUN: %tenon verify %t/good.ll
; RUN: for level in 0 1 2 3; do %tenon compile -O$level %t/good.ll -o %t/good.o; done
; RUN: not %tenon verify %t/bad.ll 2>%t/err
; RUN: FileCheck %s --check-prefix=BAD --input-file=%t/err --implicit-check-not=error:

; BAD: error: in function 'returns': ret void: the function returns while handlers of its own have not ended [handler]
; BAD: error: in function 'negative': {{.*}}more handlers end here than have begun [handler]
; BAD: error: in function 'variable': {{.*}}not a constant [handler]
; BAD: error: in function 'differs': {{.*}}the ways that lead here have begun different handlers [handler]
; BAD: error: in function 'grows': {{.*}}the ways that lead here have begun different handlers [handler]
; BAD: error: in function 'type': {{.*}}except_enter has no parameters, and returns an i32 [handler]

;--- good.ll
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"
declare i32 @julia.except_enter()
declare i32 @tenon.except_enter()
declare void @ijl_pop_handler(ptr, i32)
declare void @tenon_pop_handler(i32)
declare void @work(ptr addrspace(10))

; CHECK-LABEL: define void @one(
; CHECK: %handler = alloca [64 x i64], align 16
; CHECK: call void @ijl_enter_handler(ptr %handler) #[[LEAF:[0-9]+]]
; CHECK: %caught = call i32 @__sigsetjmp(ptr %handler, i32 0) #[[TWICE:[0-9]+]]
; CHECK: icmp eq i32 %caught, 0
; CHECK: call void @ijl_pop_handler(ptr null, i32 1) #[[LEAF]]
define void @one(ptr addrspace(10) %o) {
  %r = call i32 @julia.except_enter()
  %c = icmp eq i32 %r, 0
  br i1 %c, label %try, label %catch
try:
  call void @work(ptr addrspace(10) %o)
  call void @ijl_pop_handler(ptr null, i32 1)
  ret void
catch:
  call void @ijl_pop_handler(ptr null, i32 1)
  call void @work(ptr addrspace(10) %o)
  ret void
}

; Two at once have two buffers; both end together. One after them has the first again.
; CHECK-LABEL: define void @nested(
; CHECK: [[INNER:%handler.*]] = alloca [64 x i64]
; CHECK: [[OUTER:%handler.*]] = alloca [64 x i64]
; CHECK-NOT: alloca
; CHECK: call void @tenon_enter_handler(ptr [[OUTER]])
; CHECK: call i32 @__sigsetjmp(ptr [[OUTER]], i32 0)
; CHECK: call void @tenon_enter_handler(ptr [[INNER]])
; CHECK: call i32 @__sigsetjmp(ptr [[INNER]], i32 0)
; CHECK: call void @tenon_enter_handler(ptr [[OUTER]])
; CHECK: call i32 @__sigsetjmp(ptr [[OUTER]], i32 0)
define void @nested(ptr addrspace(10) %o) {
  %r = call i32 @tenon.except_enter()
  %c = icmp eq i32 %r, 0
  br i1 %c, label %try, label %catch
try:
  %r2 = call i32 @tenon.except_enter()
  %c2 = icmp eq i32 %r2, 0
  br i1 %c2, label %inner, label %rethrow
inner:
  call void @work(ptr addrspace(10) %o)
  call void @tenon_pop_handler(i32 2)
  br label %after
rethrow:
  call void @tenon_pop_handler(i32 1)
  call void @work(ptr addrspace(10) %o)
  unreachable
catch:
  call void @tenon_pop_handler(i32 1)
  br label %after
after:
  %r3 = call i32 @tenon.except_enter()
  call void @tenon_pop_handler(i32 1)
  ret void
}

; A try in a loop, and a loop in a try.
; CHECK-LABEL: define void @loops(
; CHECK-COUNT-2: alloca [64 x i64]
; CHECK-NOT: alloca
; CHECK: ret void
define void @loops(ptr addrspace(10) %o, i1 %k) {
entry:
  %r = call i32 @tenon.except_enter()
  br label %loop
loop:
  %r2 = call i32 @tenon.except_enter()
  %c = icmp eq i32 %r2, 0
  br i1 %c, label %try, label %catch
try:
  call void @work(ptr addrspace(10) %o)
  call void @tenon_pop_handler(i32 1)
  br label %next
catch:
  call void @tenon_pop_handler(i32 1)
  br label %next
next:
  br i1 %k, label %loop, label %done
done:
  call void @tenon_pop_handler(i32 1)
  ret void
}

;--- bad.ll
declare i32 @tenon.except_enter()
declare i64 @julia.except_enter(ptr)
declare void @tenon_pop_handler(i32)
define void @returns(i1 %c) {
  %r = call i32 @tenon.except_enter()
  ret void
}
define void @negative(i1 %c) {
  %r = call i32 @tenon.except_enter()
  call void @tenon_pop_handler(i32 2)
  ret void
}
define void @variable(i32 %n) {
  %r = call i32 @tenon.except_enter()
  call void @tenon_pop_handler(i32 %n)
  ret void
}
define void @differs(i1 %c) {
  br i1 %c, label %a, label %b
a:
  %r = call i32 @tenon.except_enter()
  br label %b
b:
  unreachable
}
define void @grows(i1 %c) {
entry:
  br label %loop
loop:
  %r = call i32 @tenon.except_enter()
  br i1 %c, label %loop, label %done
done:
  unreachable
}
define void @type(i1 %c) {
  %r = call i64 @julia.except_enter(ptr null)
  unreachable
}
