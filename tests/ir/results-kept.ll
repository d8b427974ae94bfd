; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; LLVM does not take the reference from a result whose callers only use the pointer into its object.

; RUN: %tenon compile -O2 --emit llvm %s -o - | FileCheck %s

declare void @native()

; CHECK: define internal { ptr addrspace(10), ptr addrspace(11) } @inside
; CHECK-NOT: tenon-internal
; CHECK-NOT: @unused
define internal { ptr addrspace(10), ptr addrspace(11) } @inside(ptr addrspace(10) %a) noinline {
  call void @native()
  %d = addrspacecast ptr addrspace(10) %a to ptr addrspace(11)
  %p = getelementptr i64, ptr addrspace(11) %d, i64 2
  %r = insertvalue { ptr addrspace(10), ptr addrspace(11) } poison, ptr addrspace(10) %a, 0
  %s = insertvalue { ptr addrspace(10), ptr addrspace(11) } %r, ptr addrspace(11) %p, 1
  ret { ptr addrspace(10), ptr addrspace(11) } %s
}

define i64 @outside(ptr addrspace(10) %a) {
  %r = call { ptr addrspace(10), ptr addrspace(11) } @inside(ptr addrspace(10) %a)
  %p = extractvalue { ptr addrspace(10), ptr addrspace(11) } %r, 1
  call void @native()
  %v = load i64, ptr addrspace(11) %p
  ret i64 %v
}

define internal { ptr addrspace(10), ptr addrspace(11) } @unused(ptr addrspace(10) %a) {
  %d = addrspacecast ptr addrspace(10) %a to ptr addrspace(11)
  %r = insertvalue { ptr addrspace(10), ptr addrspace(11) } poison, ptr addrspace(10) %a, 0
  %s = insertvalue { ptr addrspace(10), ptr addrspace(11) } %r, ptr addrspace(11) %d, 1
  ret { ptr addrspace(10), ptr addrspace(11) } %s
}
