; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Regions of preserved objects around a loop instead of in each turn. Functions whose name begins with `moves` have theirs moved,
; the others stay as they are.

; RUN: %tenon opt --passes=managed-licm --stats %s -o %t.ll 2>%t.stats
; RUN: FileCheck %s --input-file=%t.ll
; RUN: FileCheck %s --check-prefix=STATS --input-file=%t.stats
; STATS: 2 moved out of loops
; RUN: %tenon opt --passes='tenon<level=2;no_managed_licm>' --stats %s 2>&1 >/dev/null | FileCheck %s --check-prefix=OFF
; RUN: %tenon opt --passes='tenon<level=1>' --stats %s 2>&1 >/dev/null | FileCheck %s --check-prefix=OFF
; OFF: {{^ *}}0 moved out of loops
; RUN: for level in 0 1 2 3; do %tenon compile -O$level %s -o %t.o; done

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"
declare token @llvm.julia.gc_preserve_begin(...)
declare void @llvm.julia.gc_preserve_end(token)
declare ptr @julia.pointer_from_objref(ptr addrspace(11))
declare void @native()
declare void @leaf(ptr) "gc-leaf-function"

; CHECK-LABEL: define void @moves(
; CHECK: entry:
; CHECK: %k = call token {{.*}}gc_preserve_begin(ptr addrspace(10) %o)
; CHECK: loop:
; CHECK-NOT: preserve
; CHECK: done:
; CHECK: call void @llvm.julia.gc_preserve_end(token %k)
; CHECK: ret void
define void @moves(ptr addrspace(10) %o, i1 %c) {
entry:
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  br label %loop
loop:
  %k = call token (...) @llvm.julia.gc_preserve_begin(ptr addrspace(10) %o)
  %p = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  call void @leaf(ptr %p)
  call void @llvm.julia.gc_preserve_end(token %k)
  br i1 %c, label %loop, label %done
done:
  ret void
}

; Two ways out, and two ends.
; CHECK-LABEL: define void @moves_two(
; CHECK: loop.preheader:
; CHECK: gc_preserve_begin
; CHECK: loop:
; CHECK-NOT: preserve
; CHECK: out:
; CHECK: gc_preserve_end
; CHECK: done:
; CHECK: gc_preserve_end
; CHECK: ret void
define void @moves_two(ptr addrspace(10) %o, i1 %c, i1 %x) {
entry:
  br i1 %x, label %loop, label %end
loop:
  %k = call token (...) @llvm.julia.gc_preserve_begin(ptr addrspace(10) %o)
  br i1 %c, label %left, label %right
left:
  call void @llvm.julia.gc_preserve_end(token %k)
  br i1 %x, label %loop, label %out
right:
  call void @llvm.julia.gc_preserve_end(token %k)
  br i1 %x, label %loop, label %done
out:
  br label %end
done:
  br label %end
end:
  ret void
}

; Another object in each turn.
; CHECK-LABEL: define void @other(
; CHECK: loop:
; CHECK: gc_preserve_begin
; CHECK: gc_preserve_end
; CHECK: br i1
define void @other(ptr addrspace(10) %o, i1 %c) {
entry:
  br label %loop
loop:
  %x = phi ptr addrspace(10) [ %o, %entry ], [ %y, %loop ]
  %y = load ptr addrspace(10), ptr addrspace(10) %x
  %k = call token (...) @llvm.julia.gc_preserve_begin(ptr addrspace(10) %y)
  call void @llvm.julia.gc_preserve_end(token %k)
  br i1 %c, label %loop, label %done
done:
  ret void
}

; The object would be pinned at the safepoint.
; CHECK-LABEL: define void @safepoint(
; CHECK: loop:
; CHECK: gc_preserve_begin
; CHECK: gc_preserve_end
; CHECK: br i1
define void @safepoint(ptr addrspace(10) %o, i1 %c) {
entry:
  br label %loop
loop:
  %k = call token (...) @llvm.julia.gc_preserve_begin(ptr addrspace(10) %o)
  call void @llvm.julia.gc_preserve_end(token %k)
  call void @native()
  br i1 %c, label %loop, label %done
done:
  ret void
}

; The region goes on behind the loop: on both ways out, or on one of them, where there is no end at all.
; CHECK-LABEL: define void @longer(
; CHECK: loop:
; CHECK: gc_preserve_begin
; CHECK: done:
; CHECK: call void @native()
; CHECK: gc_preserve_end
define void @longer(ptr addrspace(10) %o, i1 %c) {
entry:
  br label %loop
loop:
  %k = call token (...) @llvm.julia.gc_preserve_begin(ptr addrspace(10) %o)
  br i1 %c, label %loop, label %done
done:
  call void @native()
  call void @llvm.julia.gc_preserve_end(token %k)
  ret void
}

; CHECK-LABEL: define void @one_way(
; CHECK: loop:
; CHECK: gc_preserve_begin
; CHECK: next:
; CHECK: gc_preserve_end
define void @one_way(ptr addrspace(10) %o, i1 %c, i1 %x) {
entry:
  br label %loop
loop:
  %k = call token (...) @llvm.julia.gc_preserve_begin(ptr addrspace(10) %o)
  br i1 %x, label %next, label %open
next:
  call void @llvm.julia.gc_preserve_end(token %k)
  br i1 %c, label %loop, label %done
open:
  call void @native()
  ret void
done:
  ret void
}
