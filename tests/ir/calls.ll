; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Calls with an array of arguments, typeof, and what is left at the end.

; RUN: %tenon opt --passes=lower-calls,finish %s | FileCheck %s --implicit-check-not=julia

declare ptr addrspace(10) @julia.call(ptr, ptr addrspace(10), ...)
declare ptr addrspace(10) @julia.call2(ptr, ptr addrspace(10), ptr addrspace(10), ...)
declare ptr addrspace(10) @julia.call3(ptr, ptr addrspace(11), ...)
declare ptr addrspace(10) @julia.typeof(ptr addrspace(10))
declare ptr @julia.get_pgcstack()
declare ptr addrspace(13) @julia.gc_loaded(ptr addrspace(10), ptr)
declare void @julia.gcroot_flush()

; One array for all calls, as large as the largest.
; CHECK-LABEL: define void @arrays(
; CHECK: %arguments.array = alloca [3 x ptr addrspace(10)]
; CHECK: store ptr addrspace(10) %a, ptr %arguments.array
; CHECK: [[SECOND:%.*]] = getelementptr i8, ptr %arguments.array, i64 8
; CHECK: store ptr addrspace(10) %b, ptr [[SECOND]]
; CHECK: call ptr addrspace(10) %f(ptr addrspace(10) %a, ptr %arguments.array, i32 2)
; CHECK: call ptr addrspace(10) %f(ptr addrspace(10) %a, ptr null, i32 0)
; CHECK: call ptr addrspace(10) %f(ptr addrspace(10) %b, ptr %arguments.array, i32 1, ptr addrspace(10) %a)
; CHECK: call ptr addrspace(10) %f(ptr addrspace(11) %d, ptr %arguments.array, i32 3)
define void @arrays(ptr %f, ptr addrspace(10) %a, ptr addrspace(10) %b, ptr addrspace(11) %d) {
  %1 = call ptr addrspace(10) (ptr, ptr addrspace(10), ...) @julia.call(ptr %f, ptr addrspace(10) %a, ptr addrspace(10) %a, ptr addrspace(10) %b)
  %2 = call ptr addrspace(10) (ptr, ptr addrspace(10), ...) @julia.call(ptr %f, ptr addrspace(10) %a)
  %3 = call ptr addrspace(10) (ptr, ptr addrspace(10), ptr addrspace(10), ...) @julia.call2(ptr %f, ptr addrspace(10) %a, ptr addrspace(10) %b, ptr addrspace(10) %b)
  %4 = call ptr addrspace(10) (ptr, ptr addrspace(11), ...) @julia.call3(ptr %f, ptr addrspace(11) %d, ptr addrspace(10) %a, ptr addrspace(10) %b, ptr addrspace(10) %b)
  ret void
}

; CHECK-LABEL: define ptr addrspace(10) @type(
; CHECK: [[H:%.*]] = getelementptr i8, ptr addrspace(11) %{{.*}}, i64 -8
; CHECK: [[W:%.*]] = load i64, ptr addrspace(11) [[H]]
; CHECK: [[T:%.*]] = and i64 [[W]], -16
; CHECK: [[P:%.*]] = inttoptr i64 [[T]] to ptr
; CHECK: addrspacecast ptr [[P]] to ptr addrspace(10)
define ptr addrspace(10) @type(ptr addrspace(10) %o) {
  %t = call ptr addrspace(10) @julia.typeof(ptr addrspace(10) %o)
  ret ptr addrspace(10) %t
}

; CHECK-LABEL: define ptr @others(
; CHECK: [[B:%.*]] = call ptr @llvm.threadlocal.address.p0(ptr @tn__gc_block)
; CHECK: [[S:%.*]] = getelementptr i8, ptr [[B]], i64 32
; CHECK: addrspacecast ptr %memory to ptr addrspace(13)
; CHECK: call void @leaf(){{$}}
; CHECK: ret ptr [[S]]
define ptr @others(ptr addrspace(10) %o, ptr %memory) {
  %s = call ptr @julia.get_pgcstack()
  %l = call ptr addrspace(13) @julia.gc_loaded(ptr addrspace(10) %o, ptr %memory)
  call void @julia.gcroot_flush()
  call void @leaf() [ "jl_roots"(ptr addrspace(10) %o) ]
  ret ptr %s
}
declare void @leaf() "gc-leaf-function"
