; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Polls where they are asked for; a loop that allocates needs none.

; RUN: %tenon opt --passes=insert-polls %s | FileCheck %s --check-prefix=NONE
; RUN: %tenon opt --passes=insert-polls --polls=loops %s | FileCheck %s --check-prefix=LOOPS
; RUN: %tenon opt --passes=insert-polls --polls=entries %s | FileCheck %s --check-prefix=ENTRIES
; RUN: %tenon opt --passes=insert-polls --polls=all --stats %s 2>&1 >/dev/null | FileCheck %s --check-prefix=STATS
; STATS: 4 polls

declare void @native()
declare void @julia.safepoint(ptr)
declare ptr addrspace(10) @julia.gc_alloc_obj(ptr, i64, ptr addrspace(10))

; NONE-LABEL: define i64 @count(
; NONE-NOT: poll
; LOOPS-LABEL: define i64 @count(
; LOOPS: loop:
; LOOPS: load atomic i32, ptr %{{.*}} monotonic, align 4
; LOOPS: br i1 %{{.*}}, label %{{.*}}, label %poll, !prof
; LOOPS: poll:
; LOOPS-NEXT: call void @tn__gc_poll()
; ENTRIES-LABEL: define i64 @count(
; ENTRIES-NOT: poll
; ENTRIES: ret i64
define i64 @count(i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %j = add i64 %i, 1
  %c = icmp ult i64 %j, %n
  br i1 %c, label %loop, label %done
done:
  ret i64 %j
}

; LOOPS-LABEL: define void @allocating(
; LOOPS-NOT: poll
; LOOPS: ret void
; ENTRIES-LABEL: define void @allocating(
; ENTRIES: tn__gc_poll
define void @allocating(i1 %c) {
entry:
  br label %loop
loop:
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 8, ptr addrspace(10) null)
  br i1 %c, label %loop, label %done
done:
  ret void
}

; A function that cannot be managed stays an ordinary one.
; LOOPS-LABEL: define i64 @variable(
; LOOPS-NOT: poll
; LOOPS: ret i64
; ENTRIES-LABEL: define i64 @variable(
define i64 @variable(i64 %n, ...) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %j = add i64 %i, 1
  %c = icmp ult i64 %j, %n
  br i1 %c, label %loop, label %done
done:
  ret i64 %j
}

; LOOPS-LABEL: define x86_fp80 @extended(
; LOOPS-NOT: poll
; LOOPS: ret x86_fp80
; ENTRIES-LABEL: define x86_fp80 @extended(
define x86_fp80 @extended(i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %j = add i64 %i, 1
  %c = icmp ult i64 %j, %n
  br i1 %c, label %loop, label %done
done:
  %x = uitofp i64 %j to x86_fp80
  ret x86_fp80 %x
}

; NONE-LABEL: define void @asked(
; NONE: tn__gc_poll
; NONE-NOT: julia
define void @asked(ptr %page) {
  call void @julia.safepoint(ptr %page)
  ret void
}
