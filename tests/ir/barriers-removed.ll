; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Barrier elimination: each function whose name begins with `no_` is left without a barrier, each that begins with `with_` keeps
; one for the last store.

; RUN: %tenon opt --passes=insert-barriers --stats %s -o %t.ll 2>%t.stats
; RUN: FileCheck %s --input-file=%t.ll
; RUN: FileCheck %s --check-prefix=STATS --input-file=%t.stats
; STATS: 7 barriers removed
; Nothing is removed at level 0, and without the option.
; RUN: %tenon opt --passes='tenon<level=0>' --stats %s 2>&1 >/dev/null | FileCheck %s --check-prefix=OFF
; RUN: %tenon opt --passes='tenon<level=1;no_barrier_elimination>' --stats %s 2>&1 >/dev/null | FileCheck %s --check-prefix=OFF
; OFF: {{^ *}}0 barriers removed
; RUN: %tenon compile -O2 %s -o %t.o

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"
declare ptr addrspace(10) @julia.gc_alloc_obj(ptr, i64, ptr addrspace(10))
declare void @native()
declare void @leaf() "gc-leaf-function"
declare i32 @setjmp(ptr) returns_twice
declare i32 @__gxx_personality_v0(...)
@outside = external constant i64
@other = external constant i64

; ---- permanent values ----

; CHECK-LABEL: define void @no_permanent(
; CHECK-NOT: tn__gc_log
; CHECK: ret void
define void @no_permanent(ptr addrspace(10) %o) {
  store ptr addrspace(10) addrspacecast (ptr @outside to ptr addrspace(10)), ptr addrspace(10) %o
  ret void
}

; An address as a number names one too.
; CHECK-LABEL: define void @no_number(
; CHECK-NOT: tn__gc_log
; CHECK: ret void
define void @no_number(ptr addrspace(10) %o) {
  %p = addrspacecast ptr inttoptr (i64 4096 to ptr) to ptr addrspace(10)
  store ptr addrspace(10) %p, ptr addrspace(10) %o
  ret void
}

; CHECK-LABEL: define void @no_permanent_choice(
; CHECK-NOT: tn__gc_log
; CHECK: ret void
define void @no_permanent_choice(ptr addrspace(10) %o, i1 %c, i1 %d) {
entry:
  br label %loop
loop:
  %v = phi ptr addrspace(10) [ null, %entry ], [ %s, %loop ]
  %s = select i1 %c, ptr addrspace(10) addrspacecast (ptr @outside to ptr addrspace(10)), ptr addrspace(10) %v
  %f = freeze ptr addrspace(10) %s
  store ptr addrspace(10) %f, ptr addrspace(10) %o
  br i1 %d, label %loop, label %done
done:
  ret void
}

; One of the choices may be in the heap.
; CHECK-LABEL: define void @with_choice(
; CHECK: call preserve_mostcc void @tn__gc_log
; CHECK: ret void
define void @with_choice(ptr addrspace(10) %o, ptr addrspace(10) %x, i1 %c) {
  %v = select i1 %c, ptr addrspace(10) addrspacecast (ptr @outside to ptr addrspace(10)), ptr addrspace(10) %x
  store ptr addrspace(10) %v, ptr addrspace(10) %o
  ret void
}

; What an address computed at run time names is not known.
; CHECK-LABEL: define void @with_address(
; CHECK: call preserve_mostcc void @tn__gc_log
; CHECK: ret void
define void @with_address(ptr addrspace(10) %o, ptr %raw) {
  %v = addrspacecast ptr %raw to ptr addrspace(10)
  store ptr addrspace(10) %v, ptr addrspace(10) %o
  ret void
}

; ---- new objects ----

; CHECK-LABEL: define void @no_ways(
; CHECK-NOT: tn__gc_log
; CHECK: ret void
define void @no_ways(i1 %c, ptr addrspace(10) %x) {
entry:
  %n = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) null)
  br i1 %c, label %left, label %right
left:
  call void @leaf()
  br label %join
right:
  br label %join
join:
  store ptr addrspace(10) %x, ptr addrspace(10) %n
  ret void
}

; On one way there is a safepoint.
; CHECK-LABEL: define void @with_ways(
; CHECK: call preserve_mostcc void @tn__gc_log
; CHECK: ret void
define void @with_ways(i1 %c, ptr addrspace(10) %x) {
entry:
  %n = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) null)
  br i1 %c, label %left, label %join
left:
  call void @native()
  br label %join
join:
  store ptr addrspace(10) %x, ptr addrspace(10) %n
  ret void
}

; The object is new, but not in the second turn.
; CHECK-LABEL: define void @with_turns(
; CHECK: call preserve_mostcc void @tn__gc_log
; CHECK: ret void
define void @with_turns(i1 %c, ptr addrspace(10) %x) {
entry:
  %n = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) null)
  br label %loop
loop:
  store ptr addrspace(10) %x, ptr addrspace(10) %n
  call void @native()
  br i1 %c, label %loop, label %done
done:
  ret void
}

; A loop without safepoints.
; CHECK-LABEL: define void @no_turns(
; CHECK-NOT: tn__gc_log
; CHECK: ret void
define void @no_turns(i1 %c, ptr addrspace(10) %x) {
entry:
  %n = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) null)
  br label %loop
loop:
  store ptr addrspace(10) %x, ptr addrspace(10) %n
  br i1 %c, label %loop, label %done
done:
  ret void
}

; CHECK-LABEL: define void @no_chosen_parent(
; CHECK-NOT: tn__gc_log
; CHECK: ret void
define void @no_chosen_parent(i1 %c, ptr addrspace(10) %x) {
entry:
  br i1 %c, label %left, label %right
left:
  %a = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) null)
  br label %join
right:
  %b = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 24, ptr addrspace(10) null)
  br label %join
join:
  %o = phi ptr addrspace(10) [ %a, %left ], [ %b, %right ]
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %p = getelementptr i8, ptr addrspace(11) %d, i64 8
  store ptr addrspace(10) %x, ptr addrspace(11) %p
  ret void
}

; One of them is not new: between its allocation and the choice is a safepoint.
; CHECK-LABEL: define void @with_older_parent(
; CHECK: call preserve_mostcc void @tn__gc_log
; CHECK: ret void
define void @with_older_parent(i1 %c, ptr addrspace(10) %x) {
entry:
  %a = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) null)
  br i1 %c, label %join, label %right
right:
  %b = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 24, ptr addrspace(10) null)
  br label %join
join:
  %other = phi ptr addrspace(10) [ null, %entry ], [ %a, %right ]
  %p = addrspacecast ptr addrspace(10) %other to ptr addrspace(11)
  store ptr addrspace(10) %x, ptr addrspace(11) %p
  ret void
}

; The object of the turn before, chosen before the next one was allocated.
; CHECK-LABEL: define void @with_last_turn(
; CHECK: call preserve_mostcc void @tn__gc_log
; CHECK: ret void
define void @with_last_turn(i1 %c, ptr addrspace(10) %x) {
entry:
  %first = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) null)
  br label %loop
loop:
  %last = phi ptr addrspace(10) [ %first, %entry ], [ %n, %loop ]
  %n = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) null)
  store ptr addrspace(10) %n, ptr addrspace(10) %last
  br i1 %c, label %loop, label %done
done:
  ret void
}

; The newest object of a loop.
; CHECK-LABEL: define void @no_this_turn(
; CHECK-NOT: tn__gc_log
; CHECK: ret void
define void @no_this_turn(i1 %c, ptr addrspace(10) %x) {
entry:
  %first = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) null)
  br label %loop
loop:
  %last = phi ptr addrspace(10) [ %first, %entry ], [ %n, %loop ]
  store ptr addrspace(10) %x, ptr addrspace(10) %last
  %n = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) null)
  br i1 %c, label %loop, label %done
done:
  ret void
}

; Chosen in this turn, among what was allocated in this and in an earlier one.
; CHECK-LABEL: define void @with_select(
; CHECK: call preserve_mostcc void @tn__gc_log
; CHECK: ret void
define void @with_select(i1 %c, ptr addrspace(10) %x) {
entry:
  %first = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) null)
  br label %loop
loop:
  %last = phi ptr addrspace(10) [ %first, %entry ], [ %s, %loop ]
  %n = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) null)
  %s = select i1 %c, ptr addrspace(10) %n, ptr addrspace(10) %last
  store ptr addrspace(10) %x, ptr addrspace(10) %s
  br i1 %c, label %loop, label %done
done:
  ret void
}

; A second return ends what is new.
; CHECK-LABEL: define void @with_second_return(
; CHECK: call preserve_mostcc void @tn__gc_log
; CHECK: ret void
define void @with_second_return(ptr %buffer, ptr addrspace(10) %x) {
  %n = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) null)
  %r = call i32 @setjmp(ptr %buffer) returns_twice
  store ptr addrspace(10) %x, ptr addrspace(10) %n
  ret void
}

; The call may have collected before it threw.
; CHECK-LABEL: define void @with_landing_pad(
; CHECK: call preserve_mostcc void @tn__gc_log
; CHECK: ret void
define void @with_landing_pad(ptr addrspace(10) %x) personality ptr @__gxx_personality_v0 {
  %n = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) null)
  invoke void @native() to label %done unwind label %pad
pad:
  %e = landingpad { ptr, i32 } catch ptr null
  store ptr addrspace(10) %x, ptr addrspace(10) %n
  br label %done
done:
  ret void
}

; An argument is not new, whatever else may be chosen.
; CHECK-LABEL: define void @with_argument(
; CHECK: call preserve_mostcc void @tn__gc_log
; CHECK: ret void
define void @with_argument(ptr addrspace(10) %a, ptr addrspace(10) %x, i1 %c) {
  %n = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) null)
  %o = select i1 %c, ptr addrspace(10) %a, ptr addrspace(10) %n
  store ptr addrspace(10) %x, ptr addrspace(10) %o
  ret void
}

; ---- words that were logged ----

; A collector may have dropped the word while it held %y.
; CHECK-LABEL: define void @with_third(
; CHECK: call preserve_mostcc void @tn__gc_log
; CHECK: call preserve_mostcc void @tn__gc_log
; CHECK: call preserve_mostcc void @tn__gc_log
; CHECK: ret void
define void @with_third(ptr addrspace(10) %o, ptr addrspace(10) %x, ptr addrspace(10) %y) {
  store ptr addrspace(10) %x, ptr addrspace(10) %o
  call void @leaf()
  store ptr addrspace(10) %y, ptr addrspace(10) %o
  call void @leaf()
  store ptr addrspace(10) %x, ptr addrspace(10) %o
  ret void
}

; So may another thread have stored something else.
; CHECK-LABEL: define void @with_second(
; CHECK: call preserve_mostcc void @tn__gc_log
; CHECK: call preserve_mostcc void @tn__gc_log
; CHECK: ret void
define void @with_second(ptr addrspace(10) %o, ptr addrspace(10) %x) {
  %a = atomicrmw xchg ptr addrspace(10) %o, ptr addrspace(10) %x seq_cst
  store ptr addrspace(10) %x, ptr addrspace(10) %o
  ret void
}
