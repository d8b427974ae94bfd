; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; What constants may not do with managed pointers, in initial values and in parts of constants that instructions use.

; RUN: rm -rf %t && split-file %s %t
; RUN: %tenon verify %t/good.ll
; RUN: not %tenon verify - <%t/bad.ll 2>%t/err
; RUN: FileCheck %s --input-file=%t/err --implicit-check-not=error:

; CHECK: error: 'number': {{.*}} [ptrtoint]
; CHECK: error: 'again': {{.*}} [ptrtoint]
; CHECK: error: 'tagged': {{.*}} [inttoptr]
; CHECK: error: 'table': {{.*}} [ptrtoint]
; CHECK: error: 'inside': {{.*}} [gep]
; CHECK: error: in function 'parts': store {{.*}} [cast]

;--- good.ll
@object = addrspace(10) global i64 0
@plain = global i64 ptrtoint (ptr @plain to i64)
@references = global [2 x ptr addrspace(10)] [ptr addrspace(10) @object, ptr addrspace(10) null]
@permanent = global ptr addrspace(10) addrspacecast (ptr @plain to ptr addrspace(10))
define void @f() {
  ret void
}
;--- bad.ll
@object = addrspace(10) global i64 0
@number = global i64 ptrtoint (ptr addrspace(10) @object to i64)
@again = global [2 x i64] [i64 0, i64 ptrtoint (ptr addrspace(10) @object to i64)]
@tagged = global ptr addrspace(10) inttoptr (i64 3 to ptr addrspace(10))
@table = global { i32, [2 x i64] } { i32 1, [2 x i64] [i64 2, i64 ptrtoint (ptr addrspace(10) @object to i64)] }
@inside = global ptr addrspace(10) getelementptr (i8, ptr addrspace(10) @object, i64 4)
define void @parts(ptr %p) {
  store { i64, ptr } { i64 1, ptr addrspacecast (ptr addrspace(10) @object to ptr) }, ptr %p
  ret void
}
