; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Memory that holds references in places which nothing can tell, or which the collector does not see. Beside each case is the
; last one that is good.

; RUN: rm -rf %t && split-file %s %t
; RUN: not %tenon verify - <%t/places.ll 2>%t/err
; RUN: FileCheck %t/places.ll --input-file=%t/err --implicit-check-not=error:
; RUN: not %tenon verify --weak - <%t/places.ll 2>%t/err
; RUN: FileCheck %t/places.ll --input-file=%t/err --implicit-check-not=error:
; RUN: not %tenon verify - <%t/numbers.ll 2>%t/err
; RUN: FileCheck %t/numbers.ll --input-file=%t/err --implicit-check-not=error:
; RUN: not %tenon verify - <%t/more.ll 2>%t/err
; RUN: FileCheck %t/more.ll --input-file=%t/err --implicit-check-not=error:

; Errors about casts and places come first, those about words in the order of variables, globals first.

;--- places.ll
@plain = global { i64, i64 } zeroinitializer
@root = global { i64, ptr addrspace(10) } zeroinitializer
; CHECK: error: in function 'unaligned': store ptr addrspace(10) %o, ptr %q{{.*}} [stack-layout]
define void @unaligned(ptr addrspace(10) %o) {
  %v = alloca [4 x i64]
  %p = getelementptr i8, ptr %v, i64 8
  %q = getelementptr i8, ptr %v, i64 20
  store ptr addrspace(10) %o, ptr %p
  store ptr addrspace(10) %o, ptr %q
  ret void
}

; CHECK: error: in function 'no_object': %b = addrspacecast {{.*}} [cast]
define void @no_object(ptr addrspace(10) %o) {
  %v = alloca i64
  %a = addrspacecast ptr %v to ptr addrspace(11)
  %b = addrspacecast ptr %v to ptr addrspace(10)
  store ptr addrspace(10) %o, ptr addrspace(11) %a
  ret void
}

; CHECK: error: in function 'to_global': store ptr addrspace(10) %o, ptr @plain{{.*}} [global]
; CHECK: error: in function 'from_global': %n = load i64, {{.*}} [pun]
define void @to_global(ptr addrspace(10) %o) {
  store ptr addrspace(10) %o, ptr getelementptr (i8, ptr @root, i64 8)
  store ptr addrspace(10) null, ptr getelementptr (i8, ptr @plain, i64 8)
  store ptr addrspace(10) %o, ptr @plain
  ret void
}
define i64 @from_global() {
  %m = load i64, ptr @root
  %n = load i64, ptr getelementptr (i8, ptr @root, i64 8)
  %s = add i64 %m, %n
  ret i64 %s
}

;--- numbers.ll
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; CHECK: error: in function 'number_next_to_it': store i32 1, ptr %r{{.*}} [pun]
define void @number_next_to_it(ptr addrspace(10) %o) {
  %v = alloca [3 x i64]
  %p = getelementptr i8, ptr %v, i64 8
  %q = getelementptr i8, ptr %v, i64 16
  %r = getelementptr i8, ptr %v, i64 12
  store ptr addrspace(10) %o, ptr %p
  store i32 1, ptr %v
  store i32 1, ptr %q
  store i32 1, ptr %r
  ret void
}

; CHECK: error: in function 'computed_with': %y = load i64, ptr %v{{.*}} [pun]
define i64 @computed_with(ptr addrspace(10) %o) {
  %v = alloca [2 x i64]
  %w = alloca [2 x i64]
  store ptr addrspace(10) %o, ptr %v
  %x = load i64, ptr %v
  store i64 %x, ptr %w
  %y = load i64, ptr %v
  %z = add i64 %y, 1
  ret i64 %z
}

; CHECK: error: in function 'copied_number': store i64 %n, ptr %v{{.*}} [pun]
define void @copied_number(i64 %n) {
  %v = alloca [2 x i64]
  %w = alloca { ptr addrspace(10), i64 }
  %p = getelementptr i8, ptr %v, i64 8
  store i64 %n, ptr %p
  store i64 %n, ptr %v
  call void @llvm.memcpy.p0.p0.i64(ptr %w, ptr %v, i64 16, i1 false)
  ret void
}

; CHECK: error: in function 'copied_askew': call void @llvm.memcpy{{.*}} i64 12, {{.*}} [pun]
define void @copied_askew(ptr addrspace(10) %o) {
  %v = alloca { i64, ptr addrspace(10) }
  %w = alloca [3 x i64]
  %p = getelementptr i8, ptr %v, i64 4
  call void @llvm.memcpy.p0.p0.i64(ptr %w, ptr %v, i64 16, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %w, ptr %p, i64 12, i1 false)
  ret void
}

;--- more.ll
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @number(ptr byval(i64))

; CHECK: error: in function 'filled': call void @llvm.memset{{.*}} i64 9, {{.*}} [pun]
define void @filled() {
  %v = alloca { i64, ptr addrspace(10) }
  call void @llvm.memset.p0.i64(ptr %v, i8 -1, i64 8, i1 false)
  call void @llvm.memset.p0.i64(ptr %v, i8 0, i64 16, i1 false)
  call void @llvm.memset.p0.i64(ptr %v, i8 -1, i64 9, i1 false)
  ret void
}

; CHECK: error: in function 'passed': call void @number({{.*}} [pun]
define void @passed() {
  %v = alloca { i64, ptr addrspace(10) }
  %p = getelementptr i8, ptr %v, i64 8
  call void @number(ptr byval(i64) %v)
  call void @number(ptr byval(i64) %p)
  ret void
}

; CHECK: error: in function 'indexed': store i64 %i, ptr %q{{.*}} [pun]
define void @indexed(ptr addrspace(10) %o, i64 %i) {
  %v = alloca [8 x i64]
  %w = alloca { ptr addrspace(10), [4 x i64] }
  %p = getelementptr i64, ptr %v, i64 %i
  %q = getelementptr i8, ptr %v, i64 8
  %r = getelementptr i8, ptr %w, i64 8
  %s = getelementptr i64, ptr %r, i64 %i
  store ptr addrspace(10) %o, ptr %p
  store i64 %i, ptr %s
  store ptr addrspace(10) %o, ptr %w
  store i64 %i, ptr %q
  ret void
}

; CHECK: error: in function 'atomic': %x = atomicrmw add {{.*}} [pun]
define void @atomic(ptr addrspace(10) %o) {
  %v = alloca [2 x i64]
  %w = atomicrmw xchg ptr %v, ptr addrspace(10) %o monotonic
  %p = getelementptr i8, ptr %v, i64 8
  %n = atomicrmw add ptr %p, i64 1 monotonic
  %x = atomicrmw add ptr %v, i64 1 monotonic
  ret void
}
