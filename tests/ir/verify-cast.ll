; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Every pair of address spaces: what may be cast, and what may not, as scalars and as vectors.

; RUN: rm -rf %t && split-file %s %t
; RUN: %tenon verify %t/good.ll
; RUN: not %tenon verify - <%t/bad.ll 2>%t/err
; RUN: FileCheck %s --input-file=%t/err --implicit-check-not=error:

; CHECK: error: in function 'bad': %a = addrspacecast {{.*}} [cast]
; CHECK: error: in function 'bad': %b = {{.*}} [cast]
; CHECK: error: in function 'bad': %c = {{.*}} [cast]
; CHECK: error: in function 'bad': %d = {{.*}} [cast]
; CHECK: error: in function 'bad': %e = {{.*}} [cast]
; CHECK: error: in function 'bad': %f = {{.*}} [cast]
; CHECK: error: in function 'bad': %g = {{.*}} [cast]
; CHECK: error: in function 'bad': %h = {{.*}} [cast]
; CHECK: error: in function 'vectors': %v = {{.*}} [cast]
; CHECK: error: in function 'constants': ret {{.*}} [cast]

;--- good.ll
define void @good(ptr %u, ptr addrspace(10) %o, <4 x ptr addrspace(10)> %v) {
  %a = addrspacecast ptr %u to ptr addrspace(10)
  %b = addrspacecast ptr %u to ptr addrspace(11)
  %c = addrspacecast ptr %u to ptr addrspace(12)
  %d = addrspacecast ptr %u to ptr addrspace(13)
  %e = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %f = addrspacecast ptr addrspace(10) %o to ptr addrspace(12)
  %g = addrspacecast <4 x ptr addrspace(10)> %v to <4 x ptr addrspace(11)>
  ret void
}
define ptr addrspace(10) @permanent() {
  ret ptr addrspace(10) addrspacecast (ptr inttoptr (i64 4096 to ptr) to ptr addrspace(10))
}
;--- bad.ll
define void @bad(ptr addrspace(10) %o, ptr addrspace(11) %p, ptr addrspace(12) %q, ptr addrspace(13) %l) {
  %a = addrspacecast ptr addrspace(10) %o to ptr
  %b = addrspacecast ptr addrspace(10) %o to ptr addrspace(13)
  %c = addrspacecast ptr addrspace(11) %p to ptr
  %d = addrspacecast ptr addrspace(11) %p to ptr addrspace(10)
  %e = addrspacecast ptr addrspace(11) %p to ptr addrspace(12)
  %f = addrspacecast ptr addrspace(12) %q to ptr addrspace(10)
  %g = addrspacecast ptr addrspace(12) %q to ptr addrspace(11)
  %h = addrspacecast ptr addrspace(13) %l to ptr addrspace(11)
  ret void
}
define void @vectors(<2 x ptr addrspace(10)> %o) {
  %v = addrspacecast <2 x ptr addrspace(10)> %o to <2 x ptr>
  ret void
}
@g = addrspace(10) global i64 0
define ptr @constants() {
  ret ptr addrspacecast (ptr addrspace(10) @g to ptr)
}
