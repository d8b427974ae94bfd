; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; A raw address behind a safepoint needs a preserved object.

; RUN: not %tenon verify - <%s 2>%t.err
; RUN: FileCheck %s --input-file=%t.err --implicit-check-not=error:
; RUN: %tenon verify --weak %s

declare ptr @julia.pointer_from_objref(ptr addrspace(11))
declare token @llvm.julia.gc_preserve_begin(...)
declare void @llvm.julia.gc_preserve_end(token)
declare void @native()
declare void @leaf() "gc-leaf-function"

; CHECK: error: in function 'stale': %raw = {{.*}} [unpinned]
define i64 @stale(ptr addrspace(10) %o) {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  call void @native()
  %v = load i64, ptr %raw
  ret i64 %v
}

; CHECK: error: in function 'stale_in_loop': %raw = {{.*}} [unpinned]
define void @stale_in_loop(ptr addrspace(10) %o, i1 %c) {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  br label %loop
loop:
  store i64 1, ptr %raw
  call void @native()
  br i1 %c, label %loop, label %done
done:
  ret void
}

define i64 @used_before(ptr addrspace(10) %o) {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  call void @leaf()
  %v = load i64, ptr %raw
  call void @native()
  ret i64 %v
}

define i64 @pinned(ptr addrspace(10) %o) {
  %p = call token (...) @llvm.julia.gc_preserve_begin(ptr addrspace(10) %o)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  call void @native()
  %v = load i64, ptr %raw
  call void @llvm.julia.gc_preserve_end(token %p)
  ret i64 %v
}
