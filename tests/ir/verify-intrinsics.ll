; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; The contract's functions, under both prefixes, and what is wrong about others.

; RUN: rm -rf %t && split-file %s %t
; RUN: %tenon verify %t/good.ll
; RUN: sed 's/julia[.]/tenon./' %t/good.ll >%t/tenon.ll && %tenon verify %t/tenon.ll
; RUN: not %tenon verify - <%t/bad.ll 2>%t/err
; RUN: FileCheck %s --input-file=%t/err --implicit-check-not=error:
; RUN: not %tenon compile %t/bad.ll -o %t/bad.o 2>%t/err
; RUN: FileCheck %s --input-file=%t/err --implicit-check-not=error:

; RUN: not %tenon verify %t/names.ll 2>%t/err
; RUN: FileCheck %s --input-file=%t/err --implicit-check-not=error: --check-prefix=NAMES
; RUN: not %tenon compile %t/names.ll -o %t/names.o 2>%t/err
; RUN: FileCheck %s --input-file=%t/err --implicit-check-not=error: --check-prefix=NAMES
; RUN: not %tenon run --lazy --entry f %t/names.ll 2>%t/err
; RUN: FileCheck %s --input-file=%t/err --implicit-check-not=error: --check-prefix=NAMES
; RUN: not %tenon build -o %t/names.a %t/names.ll 2>%t/err
; RUN: FileCheck %s --input-file=%t/err --implicit-check-not=error: --check-prefix=NAMES
; RUN: not %tenon compile %t/address.ll -o %t/address.o 2>&1 | FileCheck %s --check-prefix=ADDRESS

Whatever begins with these prefixes is an intrinsic, and no linker is asked for it.
; NAMES: error: in function 'f': {{.*}}@julia.cpu.have_fma(){{.*}} [intrinsic]
; NAMES: error: in function 'f': {{.*}}@tenon.cpu.have_fma.f32(i32 1){{.*}} [intrinsic]
; NAMES: error: in function 'f': {{.*}}@julia.cpu.supports.avx(){{.*}} [intrinsic]
; NAMES: error: in function 'f': {{.*}}@tenon.anything(){{.*}} [intrinsic]
; ADDRESS: error: 'julia.cpu.have_fma.f64' can only be called [intrinsic-address]

; CHECK: error: in function 'f': {{.*}}@julia.nothing{{.*}} [intrinsic]
; CHECK: error: in function 'f': {{.*}}@julia.typeof{{.*}} [intrinsic]
; CHECK: error: in function 'f': {{.*}}@julia.call(ptr {{.*}} [call-arguments]
; CHECK: error: in function 'f': store ptr @julia.gc_alloc_obj{{.*}} [intrinsic-address]

;--- good.ll
declare ptr addrspace(10) @julia.call(ptr, ptr addrspace(10), ...)
declare ptr addrspace(10) @julia.call2(ptr, ptr addrspace(10), ptr addrspace(10), ...)
declare ptr addrspace(10) @julia.call3(ptr, ptr addrspace(11), ...)
declare ptr addrspace(10) @julia.gc_alloc_obj(ptr, i64, ptr addrspace(10))
declare ptr addrspace(10) @julia.gc_alloc_bytes(ptr, i64, i64)
declare ptr @julia.pointer_from_objref(ptr addrspace(11))
declare ptr addrspace(13) @julia.gc_loaded(ptr addrspace(10), ptr)
declare ptr addrspace(10) @julia.typeof(ptr addrspace(10))
declare void @julia.write_barrier(ptr addrspace(10), ...)
declare token @llvm.julia.gc_preserve_begin(...)
declare void @llvm.julia.gc_preserve_end(token)
declare void @julia.safepoint(ptr)
declare ptr @julia.get_pgcstack()
declare ptr addrspace(10) @fptr(ptr addrspace(10), ptr, i32)
define void @f(ptr addrspace(10) %o, ptr addrspace(11) %d, ptr %task) {
  %a = call ptr addrspace(10) (ptr, ptr addrspace(10), ...) @julia.call(ptr @fptr, ptr addrspace(10) %o, ptr addrspace(10) %o)
  %b = call ptr addrspace(10) (ptr, ptr addrspace(11), ...) @julia.call3(ptr @fptr, ptr addrspace(11) %d, ptr addrspace(10) %o)
  %t = call ptr addrspace(10) @julia.typeof(ptr addrspace(10) %o)
  %n = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %t)
  call void (ptr addrspace(10), ...) @julia.write_barrier(ptr addrspace(10) %n, ptr addrspace(10) %o)
  %p = call token (...) @llvm.julia.gc_preserve_begin(ptr addrspace(10) %o)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  call void @llvm.julia.gc_preserve_end(token %p)
  %stack = call ptr @julia.get_pgcstack()
  %l = call ptr addrspace(13) @julia.gc_loaded(ptr addrspace(10) %o, ptr %raw)
  ret void
}

;--- bad.ll
declare ptr addrspace(10) @julia.nothing(ptr addrspace(10))
declare ptr addrspace(10) @julia.typeof(ptr addrspace(11))
declare ptr addrspace(10) @julia.call(ptr, ptr addrspace(10), ...)
declare ptr addrspace(10) @julia.gc_alloc_obj(ptr, i64, ptr addrspace(10))
define void @f(ptr addrspace(10) %o, ptr addrspace(11) %d) {
  %a = call ptr addrspace(10) @julia.nothing(ptr addrspace(10) %o)
  %t = call ptr addrspace(10) @julia.typeof(ptr addrspace(11) %d)
  %c = call ptr addrspace(10) (ptr, ptr addrspace(10), ...) @julia.call(ptr null, ptr addrspace(10) %o, ptr addrspace(11) %d)
  %m = alloca ptr
  store ptr @julia.gc_alloc_obj, ptr %m
  ret void
}

;--- names.ll
declare i1 @julia.cpu.have_fma()
declare i1 @tenon.cpu.have_fma.f32(i32)
declare i1 @julia.cpu.have_fma.f64()
declare i1 @julia.cpu.supports.avx()
declare void @tenon.anything()
define i1 @f() {
  %a = call i1 @julia.cpu.have_fma()
  %b = call i1 @tenon.cpu.have_fma.f32(i32 1)
  %c = call i1 @julia.cpu.have_fma.f64()
  %d = call i1 @julia.cpu.supports.avx()
  call void @tenon.anything()
  ret i1 %c
}

;--- address.ll
declare i1 @julia.cpu.have_fma.f64()
define ptr @f() {
  ret ptr @julia.cpu.have_fma.f64
}
