; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; What may be loaded, stored, passed, returned and kept in globals, and what may not.

; RUN: rm -rf %t && split-file %s %t
; RUN: %tenon verify %t/good.ll
; RUN: not %tenon verify - <%t/bad.ll 2>%t/err
; RUN: FileCheck %s --input-file=%t/err --implicit-check-not=error:
; RUN: not %tenon verify --weak - <%t/bad.ll 2>%t/weak
; RUN: grep -c error: %t/weak | FileCheck %s --check-prefix=WEAK
; RUN: not %tenon verify --weak - <%t/calls.ll 2>&1 | FileCheck %t/calls.ll --check-prefix=CALLS --implicit-check-not=error:
; WEAK: {{^}}12{{$}}

; CHECK: error: 'derived': {{.*}} [global]
; CHECK: error: 'per_thread': {{.*}} [global]
; CHECK: error: in function 'f': %a = load {{.*}} [access]
; CHECK: error: in function 'f': store i64 1, {{.*}} [access]
; CHECK: error: in function 'f': store ptr addrspace(12) {{.*}} [store]
; CHECK: error: in function 'f': store ptr addrspace(13) {{.*}} [store-loaded]
; CHECK: error: in function 'f': %b = load { ptr {{.*}} [load]
; CHECK: error: in function 'f': %c = atomicrmw {{.*}} [store]
; CHECK: error: in function 'f': %d = icmp {{.*}} [callee-rooted]
; CHECK: error: in function 'f': %e = getelementptr {{.*}} [callee-rooted]
; CHECK: error: in function 'struct': ret {{.*}} [ret-derived]
; CHECK: error: in function 'vector': ret {{.*}} [ret]
; CHECK: error: in function 'pun': %n = load i64, {{.*}} [pun]

;--- good.ll
@root = global ptr addrspace(10) null
@roots = global { i64, [4 x ptr addrspace(10)] } zeroinitializer
declare void @use(ptr addrspace(12), ptr addrspace(11), ptr addrspace(13))
define { ptr addrspace(10), ptr addrspace(11) } @f(ptr addrspace(10) %o, ptr addrspace(11) %p, ptr addrspace(13) %l) {
  %v = load ptr addrspace(10), ptr addrspace(13) %l
  store ptr addrspace(10) %v, ptr addrspace(11) %p
  store ptr addrspace(10) %v, ptr addrspace(10) %o
  store ptr addrspace(10) %v, ptr @root
  %x = atomicrmw xchg ptr addrspace(11) %p, ptr addrspace(10) %v monotonic
  %q = addrspacecast ptr addrspace(10) %o to ptr addrspace(12)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  call void @use(ptr addrspace(12) %q, ptr addrspace(11) %p, ptr addrspace(13) %l)
  %r = insertvalue { ptr addrspace(10), ptr addrspace(11) } poison, ptr addrspace(10) %o, 0
  %s = insertvalue { ptr addrspace(10), ptr addrspace(11) } %r, ptr addrspace(11) %d, 1
  ret { ptr addrspace(10), ptr addrspace(11) } %s
}
declare { ptr addrspace(10), ptr addrspace(13) } @loaded()
define ptr addrspace(10) @called(ptr addrspace(11) %p, <2 x i1> %m) {
  %s = call { ptr addrspace(10), ptr addrspace(13) } @loaded()
  %v = call <2 x ptr addrspace(10)> @llvm.masked.load.v2p10.p11(ptr addrspace(11) align 8 %p, <2 x i1> %m, <2 x ptr addrspace(10)> zeroinitializer)
  %w = call <2 x ptr addrspace(13)> @llvm.masked.load.v2p13.p11(ptr addrspace(11) align 8 %p, <2 x i1> %m, <2 x ptr addrspace(13)> zeroinitializer)
  call void @llvm.masked.store.v2p10.p11(<2 x ptr addrspace(10)> %v, ptr addrspace(11) align 8 %p, <2 x i1> %m)
  %o = extractvalue { ptr addrspace(10), ptr addrspace(13) } %s, 0
  ret ptr addrspace(10) %o
}
define i64 @parts(ptr addrspace(10) %o) {
  %m = alloca { ptr addrspace(10), i64 }
  store ptr addrspace(10) %o, ptr %m
  %p = getelementptr i8, ptr %m, i64 8
  %n = load i64, ptr %p
  ret i64 %n
}

;--- bad.ll
@derived = global { i64, ptr addrspace(11) } zeroinitializer
@per_thread = thread_local global ptr addrspace(10) null
define void @f(ptr addrspace(11) %p, ptr addrspace(12) %q, ptr addrspace(13) %l) {
  %a = load i64, ptr addrspace(12) %q
  store i64 1, ptr addrspace(12) %q
  store ptr addrspace(12) %q, ptr addrspace(11) %p
  store ptr addrspace(13) %l, ptr addrspace(11) %p
  %b = load { ptr addrspace(11), i64 }, ptr addrspace(11) %p
  %c = atomicrmw xchg ptr addrspace(11) %p, ptr addrspace(11) %p monotonic
  %d = icmp eq ptr addrspace(12) %q, null
  %e = getelementptr i8, ptr addrspace(12) %q, i64 8
  ret void
}
define { i64, ptr addrspace(11) } @struct(ptr addrspace(11) %p) {
  %r = insertvalue { i64, ptr addrspace(11) } poison, ptr addrspace(11) %p, 1
  ret { i64, ptr addrspace(11) } %r
}
define <2 x ptr addrspace(11)> @vector(<2 x ptr addrspace(11)> %v) {
  ret <2 x ptr addrspace(11)> %v
}
define i64 @pun(ptr addrspace(10) %o) {
  %m = alloca [4 x i64]
  %p = getelementptr i8, ptr %m, i64 16
  store ptr addrspace(10) %o, ptr %p
  %n = load i64, ptr %p
  ret i64 %n
}

;--- calls.ll
; CALLS: error: in function 'jumping': %o = callbr {{.*}} [callbr]
define ptr addrspace(10) @jumping() {
  %o = callbr ptr addrspace(10) asm "", "=r,!i"() to label %a [label %b]
a:
  ret ptr addrspace(10) %o
b:
  callbr void asm "", "!i"() to label %a [label %c]
c:
  ret ptr addrspace(10) null
}
; CALLS: error: in function 'called': %d = call ptr addrspace(11) @derived_from_nothing(): {{.*}} [ret]
; CALLS: error: in function 'called': %s = call {{.*}} [ret-derived]
; CALLS: error: in function 'masked': %v = call {{.*}} [load]
; CALLS: error: in function 'masked': call void @llvm.masked.store{{.*}} [store]
declare ptr addrspace(11) @derived_from_nothing()
declare { i64, ptr addrspace(13) } @loaded_from_nothing()
define void @called() {
  %d = call ptr addrspace(11) @derived_from_nothing()
  %s = call { i64, ptr addrspace(13) } @loaded_from_nothing()
  ret void
}
define void @masked(ptr addrspace(11) %p, <2 x i1> %m) {
  %v = call <2 x ptr addrspace(11)> @llvm.masked.load.v2p11.p11(ptr addrspace(11) align 8 %p, <2 x i1> %m, <2 x ptr addrspace(11)> zeroinitializer)
  call void @llvm.masked.store.v2p11.p11(<2 x ptr addrspace(11)> %v, ptr addrspace(11) align 8 %p, <2 x i1> %m)
  ret void
}
