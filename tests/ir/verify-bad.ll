; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Each rule of the contract broken once; everything is reported, with function, instruction and rule.

; RUN: not %tenon verify - <%s 2>%t.err
; RUN: FileCheck %s --input-file=%t.err
; RUN: grep -c 'error:' %t.err | FileCheck %s --check-prefix=COUNT
; COUNT: {{^}}10{{$}}

; CHECK: tenon verify: <stdin>: error: in function 'to_integer': %n = ptrtoint ptr addrspace(10) %o to i64: {{.*}} [ptrtoint]
define i64 @to_integer(ptr addrspace(10) %o) {
  %n = ptrtoint ptr addrspace(10) %o to i64
  ret i64 %n
}

; CHECK: in function 'address': %n = ptrtoaddr {{.*}} [ptrtoint]
define i64 @address(ptr addrspace(10) %o) {
  %n = ptrtoaddr ptr addrspace(10) %o to i64
  ret i64 %n
}

; CHECK: in function 'from_integer': %o = inttoptr {{.*}} [inttoptr]
define ptr addrspace(10) @from_integer(i64 %n) {
  %o = inttoptr i64 %n to ptr addrspace(10)
  ret ptr addrspace(10) %o
}

; CHECK: in function 'constant': store {{.*}} [inttoptr]
define void @constant(ptr addrspace(11) %slot) {
  store ptr addrspace(10) inttoptr (i64 4096 to ptr addrspace(10)), ptr addrspace(11) %slot
  ret void
}

; CHECK: in function 'gep_in_10': %p = getelementptr {{.*}} [gep]
define i64 @gep_in_10(ptr addrspace(10) %o) {
  %p = getelementptr i64, ptr addrspace(10) %o, i64 1
  %v = load i64, ptr addrspace(10) %p
  ret i64 %v
}

; CHECK: in function 'store_derived': store {{.*}} [store]
define void @store_derived(ptr addrspace(11) %p, ptr addrspace(11) %slot) {
  store ptr addrspace(11) %p, ptr addrspace(11) %slot
  ret void
}

; CHECK: in function 'load_derived': %p = load {{.*}} [load]
define i64 @load_derived(ptr addrspace(11) %slot) {
  %p = load ptr addrspace(11), ptr addrspace(11) %slot
  %v = load i64, ptr addrspace(11) %p
  ret i64 %v
}

; CHECK: in function 'ret_derived': ret {{.*}} [ret]
define ptr addrspace(11) @ret_derived(ptr addrspace(10) %o) {
  %p = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  ret ptr addrspace(11) %p
}

; CHECK: in function 'elsewhere': %v = alloca {{.*}} [alloca]
define void @elsewhere() {
  %v = alloca i64, addrspace(10)
  ret void
}

; CHECK: in function 'no_object': %o = addrspacecast {{.*}} [cast]
define ptr addrspace(10) @no_object() {
  %v = alloca [2 x i64]
  %o = addrspacecast ptr %v to ptr addrspace(10)
  ret ptr addrspace(10) %o
}
