; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; atomicmodify becomes one atomic operation if it says what the function does, else a loop; and memory that a new object
; refers to is zeroed.

; RUN: rm -rf %t && split-file %s %t
; RUN: %tenon opt --passes=expand-atomic-modify,zero-indirect --stats %t/good.ll -o %t/out.ll 2>%t/stats
; RUN: FileCheck %s --input-file=%t/stats --check-prefix=STATS
; STATS: 6 atomic modifications expanded
; STATS: 1 memory zeroed indirectly
; RUN: FileCheck %s --input-file=%t/out.ll --implicit-check-not=julia.
; RUN: %tenon verify %t/good.ll
; RUN: %tenon compile -O2 %t/good.ll -o %t/good.o
; RUN: not %tenon verify %t/bad.ll 2>%t/err
; RUN: FileCheck %s --check-prefix=BAD --input-file=%t/err --implicit-check-not=error:

; BAD: error: in function 'order': {{.*}} [intrinsic]
; BAD: error: in function 'variable_order': {{.*}} [intrinsic]
; BAD: error: in function 'odd': {{.*}} [intrinsic]
; BAD: error: in function 'single': {{.*}} [intrinsic]
; RUN: not %tenon verify %t/bundle.ll 2>%t/err
; RUN: FileCheck %s --check-prefix=BUNDLE --input-file=%t/err --implicit-check-not=error:
; BUNDLE: error: in function 'no_object': {{.*}} [bundle]

;--- good.ll
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"
declare {i64, i64} @julia.atomicmodify.i64.p11(ptr addrspace(11), ptr, i8, i8, ...)
declare {i32, i32} @julia.atomicmodify.i32.p0(ptr, ptr, i8, i8, ...)

define internal i64 @plus(i64 %old, i64 %x) {
  %r = add i64 %x, %old
  ret i64 %r
}
define internal i64 @minus(i64 %old, i64 %x) {
  %r = sub i64 %old, %x
  ret i64 %r
}
define internal i64 @backwards(i64 %old, i64 %x) {
  %r = sub i64 %x, %old
  ret i64 %r
}
define internal i64 @other(i64 %old, i64 %x) {
  ret i64 %x
}
define weak i64 @replaceable(i64 %old, i64 %x) {
  %r = add i64 %x, %old
  ret i64 %r
}
declare i32 @unknown(i32)

; CHECK-LABEL: define {{.*}}@f_plus(
; CHECK: [[OLD:%.*]] = atomicrmw add ptr addrspace(11) %p, i64 %x seq_cst, align 8
; CHECK: [[NEW:%.*]] = call i64 @plus(i64 [[OLD]], i64 %x)
; CHECK: insertvalue { i64, i64 } poison, i64 [[OLD]], 0
; CHECK: insertvalue { i64, i64 } %{{.*}}, i64 [[NEW]], 1
define {i64, i64} @f_plus(ptr addrspace(11) %p, i64 %x) {
  %r = call {i64, i64} (ptr addrspace(11), ptr, i8, i8, ...) @julia.atomicmodify.i64.p11(ptr addrspace(11) %p, ptr @plus, i8 7, i8 1, i64 %x)
  ret {i64, i64} %r
}

; CHECK-LABEL: define {{.*}}@f_minus(
; CHECK: atomicrmw sub ptr addrspace(11) %p, i64 %x syncscope("singlethread") acquire
define {i64, i64} @f_minus(ptr addrspace(11) %p, i64 %x) {
  %r = call {i64, i64} (ptr addrspace(11), ptr, i8, i8, ...) @julia.atomicmodify.i64.p11(ptr addrspace(11) %p, ptr @minus, i8 4, i8 0, i64 %x)
  ret {i64, i64} %r
}

; x - old is not old - x.
; CHECK-LABEL: define {{.*}}@f_backwards(
; CHECK: cmpxchg weak ptr addrspace(11) %p, i64 %old, i64 %new release monotonic
define {i64, i64} @f_backwards(ptr addrspace(11) %p, i64 %x) {
  %r = call {i64, i64} (ptr addrspace(11), ptr, i8, i8, ...) @julia.atomicmodify.i64.p11(ptr addrspace(11) %p, ptr @backwards, i8 5, i8 1, i64 %x)
  ret {i64, i64} %r
}

; CHECK-LABEL: define {{.*}}@f_other(
; CHECK: atomicrmw xchg ptr addrspace(11) %p, i64 %x monotonic
define {i64, i64} @f_other(ptr addrspace(11) %p, i64 %x) {
  %r = call {i64, i64} (ptr addrspace(11), ptr, i8, i8, ...) @julia.atomicmodify.i64.p11(ptr addrspace(11) %p, ptr @other, i8 2, i8 1, i64 %x)
  ret {i64, i64} %r
}

; CHECK-LABEL: define {{.*}}@f_replaceable(
; CHECK: cmpxchg weak ptr addrspace(11) %p, i64 %old, i64 %new acq_rel acquire
define {i64, i64} @f_replaceable(ptr addrspace(11) %p, i64 %x) {
  %r = call {i64, i64} (ptr addrspace(11), ptr, i8, i8, ...) @julia.atomicmodify.i64.p11(ptr addrspace(11) %p, ptr @replaceable, i8 6, i8 1, i64 %x)
  ret {i64, i64} %r
}

; CHECK-LABEL: define {{.*}}@f_unknown(
; CHECK: %first = load atomic i32, ptr %p monotonic, align 4
; CHECK: modify:
; CHECK: %old = phi i32 [ %first, %0 ], [ %seen, %modify ]
; CHECK: %new = call i32 @unknown(i32 %old)
; CHECK: [[PAIR:%.*]] = cmpxchg weak ptr %p, i32 %old, i32 %new seq_cst seq_cst, align 4
; CHECK: %seen = extractvalue { i32, i1 } [[PAIR]], 0
; CHECK: %done = extractvalue { i32, i1 } [[PAIR]], 1
; CHECK: br i1 %done, label %{{.*}}, label %modify
define {i32, i32} @f_unknown(ptr %p) {
  %r = call {i32, i32} (ptr, ptr, i8, i8, ...) @julia.atomicmodify.i32.p0(ptr %p, ptr @unknown, i8 7, i8 1)
  ret {i32, i32} %r
}

; ---- memory of a new object ----

declare ptr addrspace(10) @jl_alloc_genericmemory_unchecked(ptr, i64, ptr addrspace(10))
; CHECK-LABEL: define {{.*}}@memory(
; CHECK: [[O:%.*]] = call ptr addrspace(10) @jl_alloc_genericmemory_unchecked(ptr %ptls, i64 %n, ptr addrspace(10) %t){{$}}
; CHECK: [[D:%.*]] = addrspacecast ptr addrspace(10) [[O]] to ptr addrspace(11)
; CHECK: [[P:%.*]] = getelementptr i8, ptr addrspace(11) [[D]], i64 8
; CHECK: [[M:%.*]] = load ptr addrspace(13), ptr addrspace(11) [[P]]
; CHECK: call void @llvm.memset.p13.i64(ptr addrspace(13) align 1 [[M]], i8 0, i64 %n, i1 false)
define ptr addrspace(10) @memory(ptr %ptls, i64 %n, ptr addrspace(10) %t) {
  %o = call ptr addrspace(10) @jl_alloc_genericmemory_unchecked(ptr %ptls, i64 %n, ptr addrspace(10) %t) [ "julia.gc_alloc_zeroinit_indirect"(i64 8, i64 %n) ]
  ret ptr addrspace(10) %o
}

;--- bad.ll
declare {i64, i64} @julia.atomicmodify.i64.p0(ptr, ptr, i8, i8, ...)
declare {i24, i24} @julia.atomicmodify.i24.p0(ptr, ptr, i8, i8, ...)
declare i64 @tenon.atomicmodify.i64.p0(ptr, ptr, i8, i8, ...)
define void @order(ptr %p) {
  %r = call {i64, i64} (ptr, ptr, i8, i8, ...) @julia.atomicmodify.i64.p0(ptr %p, ptr %p, i8 0, i8 1)
  ret void
}
define void @variable_order(ptr %p, i8 %order) {
  %r = call {i64, i64} (ptr, ptr, i8, i8, ...) @julia.atomicmodify.i64.p0(ptr %p, ptr %p, i8 %order, i8 1)
  ret void
}
define void @odd(ptr %p) {
  %r = call {i24, i24} (ptr, ptr, i8, i8, ...) @julia.atomicmodify.i24.p0(ptr %p, ptr %p, i8 7, i8 1)
  ret void
}
define void @single(ptr %p) {
  %r = call i64 (ptr, ptr, i8, i8, ...) @tenon.atomicmodify.i64.p0(ptr %p, ptr %p, i8 7, i8 1)
  ret void
}
;--- bundle.ll
declare ptr @no_result(i64)
declare ptr addrspace(10) @julia.typeof(ptr addrspace(10))
define void @no_object(i64 %n) {
  %r = call ptr @no_result(i64 %n) [ "julia.gc_alloc_zeroinit_indirect"(i64 8, i64 %n) ]
  ret void
}
