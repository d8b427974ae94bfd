; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; What cannot be made precise is an error that names function, instruction and rule; never an abort.

; RUN: rm -rf %t && split-file %s %t
; RUN: not %tenon opt --passes=type-stack,place-roots - <%t/place.ll 2>%t/err
; RUN: FileCheck %t/place.ll --input-file=%t/err
; RUN: not %tenon opt --passes=manage-functions,transitions - <%t/manage.ll 2>%t/err
; RUN: FileCheck %t/manage.ll --input-file=%t/err
; RUN: not %tenon opt --passes=manage-functions,transitions - <%t/arguments.ll 2>%t/err
; RUN: FileCheck %t/arguments.ll --input-file=%t/err --implicit-check-not=error:
; RUN: not %tenon opt --passes=scalarize,place-roots - <%t/scalable.ll 2>%t/err
; RUN: FileCheck %t/scalable.ll --input-file=%t/err --implicit-check-not=error:
; RUN: not %tenon opt --passes=manage-functions,transitions - <%t/variadic.ll 2>%t/err
; RUN: FileCheck %t/variadic.ll --input-file=%t/err --implicit-check-not=error:
; RUN: not %tenon opt --passes=insert-barriers - <%t/barrier.ll 2>%t/err
; RUN: FileCheck %t/barrier.ll --input-file=%t/err
; RUN: not %tenon opt --passes=nothing,place-roots %t/barrier.ll 2>&1 | FileCheck %s --check-prefix=UNKNOWN
; UNKNOWN: unknown pass 'nothing'; 'tenon opt' and tn_codegen_passes list them

;--- place.ll
declare void @native()
declare void @takes(ptr)
declare ptr addrspace(10) @julia.gc_alloc_obj(ptr, i64, ptr addrspace(10))
; CHECK: 'musttail': musttail call {{.*}} [musttail]
define void @musttail() gc "tenon" {
  musttail call void @native()
  ret void
}
; CHECK: 'dynamic': %v = alloca {{.*}} [dynamic-stack]
define void @dynamic(i64 %n) gc "tenon" {
  %v = alloca ptr addrspace(10), i64 %n
  call void @native()
  ret void
}
; CHECK: 'dynamic_bytes': %v = alloca {{.*}} [dynamic-stack]
define void @dynamic_bytes(ptr addrspace(10) %o, i64 %n) gc "tenon" {
  %u = alloca i8, i64 %n
  %v = alloca i8, i64 %n
  %w = alloca i64, i64 7
  store ptr addrspace(10) %o, ptr %v
  store ptr addrspace(10) %o, ptr %w
  call void @native()
  ret void
}
; CHECK: 'looping': %v = alloca {{.*}} [dynamic-stack]
define void @looping() gc "tenon" {
  br label %again
again:
  %v = alloca ptr addrspace(10)
  call void @native()
  br label %again
}
; CHECK: 'aligned': %w = alloca {{.*}} [alignment]
define void @aligned() gc "tenon" {
  %v = alloca i64, align 16
  %w = alloca i64, align 32
  call void @takes(ptr %w)
  ret void
}
; CHECK: 'bundle': call {{.*}} [bundle]
define void @bundle() gc "tenon" {
  call void @native() [ "unknown"(i64 1) ]
  ret void
}
; CHECK: 'early': %o = call {{.*}} [not-lowered]
define void @early() gc "tenon" {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 8, ptr addrspace(10) null)
  ret void
}

;--- manage.ll
declare void @native()
; CHECK: 'wrong': call {{.*}} [leaf]
define void @wrong() "gc-leaf-function" {
  call void @native()
  ret void
}
; CHECK: error: 'other': {{.*}} [gc]
define void @other() gc "shadow-stack" {
  call void @native()
  ret void
}

;--- arguments.ll
declare void @native(ptr inalloca({ i64 }))
declare void @prepared(ptr preallocated({ i64 }))
declare token @llvm.call.preallocated.setup(i32)
declare ptr @llvm.call.preallocated.arg(token, i32)
declare swiftcc void @fails(ptr swifterror)
declare swiftcc void @waits(ptr swiftasync)
declare void @leaf(ptr inalloca({ i64 })) "gc-leaf-function"
; CHECK: error: 'taken': {{.*}} [argument]
define void @taken(ptr inalloca({ ptr addrspace(10) }) %v) gc "tenon" {
  ret void
}
; CHECK: error: in function 'in': call {{.*}} [argument]
define void @in() gc "tenon" {
  %v = alloca inalloca { i64 }
  call void @native(ptr inalloca({ i64 }) %v)
  %w = alloca inalloca { i64 }
  call void @leaf(ptr inalloca({ i64 }) %w)
  ret void
}
; CHECK: error: in function 'pre': call {{.*}} [argument]
define void @pre() gc "tenon" {
  %t = call token @llvm.call.preallocated.setup(i32 1)
  %v = call ptr @llvm.call.preallocated.arg(token %t, i32 0) preallocated({ i64 })
  call void @prepared(ptr preallocated({ i64 }) %v) ["preallocated"(token %t)]
  ret void
}
; CHECK: error: in function 'error': call {{.*}} [argument]
define void @error() gc "tenon" {
  %e = alloca swifterror ptr
  store ptr null, ptr %e
  call swiftcc void @fails(ptr swifterror %e)
  ret void
}
; CHECK: error: in function 'async': call {{.*}} [argument]
define void @async(ptr %c) gc "tenon" {
  call swiftcc void @waits(ptr swiftasync %c)
  ret void
}

;--- scalable.ll
declare void @native()
declare ptr addrspace(10) @allocate()
; CHECK: error: 'passed': {{.*}} [not-scalar]
define ptr addrspace(10) @passed(<vscale x 2 x ptr addrspace(10)> %v) gc "tenon" {
  call void @native()
  %x = extractelement <vscale x 2 x ptr addrspace(10)> %v, i32 0
  ret ptr addrspace(10) %x
}
; CHECK: error: 'many': {{.*}} [not-scalar]
define ptr addrspace(10) @many([1025 x ptr addrspace(10)] %v) gc "tenon" {
  call void @native()
  %x = extractvalue [1025 x ptr addrspace(10)] %v, 1
  ret ptr addrspace(10) %x
}
; CHECK: error: in function 'made': %v = insertelement {{.*}} [not-scalar]
define ptr addrspace(10) @made() gc "tenon" {
  %o = call ptr addrspace(10) @allocate()
  %v = insertelement <vscale x 2 x ptr addrspace(10)> poison, ptr addrspace(10) %o, i32 0
  call void @native()
  %x = extractelement <vscale x 2 x ptr addrspace(10)> %v, i32 0
  ret ptr addrspace(10) %x
}
define ptr addrspace(10) @before(<vscale x 2 x ptr addrspace(10)> %v) gc "tenon" {
  %x = extractelement <vscale x 2 x ptr addrspace(10)> %v, i32 0
  call void @native()
  ret ptr addrspace(10) %x
}

;--- variadic.ll
declare void @native()
declare void @llvm.va_start(ptr)
; CHECK: error: 'collects': {{.*}} [variable-arguments]
define void @collects(i64 %n, ...) {
  call void @native()
  ret void
}
define void @collects_not(i64 %n, ...) {
  %list = alloca [4 x i64]
  call void @llvm.va_start(ptr %list)
  ret void
}

;--- barrier.ll
; CHECK: 'unknown': store {{.*}} [parent]
define void @unknown(ptr addrspace(11) %p, ptr addrspace(10) %o) {
  store ptr addrspace(10) %o, ptr addrspace(11) %p
  ret void
}
; CHECK: 'chosen': store {{.*}} [parent]
define void @chosen(ptr addrspace(11) %p, ptr addrspace(10) %o, i1 %c) {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %f = freeze ptr addrspace(11) %p
  %s = select i1 %c, ptr addrspace(11) %d, ptr addrspace(11) %f
  %e = getelementptr i8, ptr addrspace(11) %s, i64 8
  store ptr addrspace(10) %o, ptr addrspace(11) %e
  ret void
}

