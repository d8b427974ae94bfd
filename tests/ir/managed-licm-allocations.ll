; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Objects that each turn of a loop makes anew, made once before it and cleared in each turn. Functions whose name begins with `once` have theirs
; moved, the others stay as they are.

; RUN: %tenon opt --passes=managed-licm --stats %s -o %t.ll 2>%t.stats
; RUN: FileCheck %s --input-file=%t.ll
; RUN: FileCheck %s --check-prefix=STATS --input-file=%t.stats
; STATS: 5 moved out of loops
; RUN: %tenon opt --passes=gc-verify-strong %t.ll -o /dev/null
; An array may have no length yet at a poll.
; RUN: %tenon opt --passes=managed-licm --polls=loops --stats %s 2>&1 >/dev/null | FileCheck %s --check-prefix=POLLS
; POLLS: 2 moved out of loops
; RUN: %tenon opt --passes='tenon<level=2;no_managed_licm>' --stats %s 2>&1 >/dev/null | FileCheck %s --check-prefix=OFF
; RUN: %tenon opt --passes='tenon<level=1>' --stats %s 2>&1 >/dev/null | FileCheck %s --check-prefix=OFF
; OFF: {{^ *}}0 moved out of loops
; RUN: for level in 0 1 2 3; do %tenon compile -O$level %s -o %t.o; done

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"
%type = type { ptr, i32, i32, i64, i64, i64, i64, ptr, i64, ptr }
@plain = constant %type { ptr null, i32 1, i32 8, i64 2048, i64 0, i64 0, i64 1, ptr null, i64 0, ptr null }
@array = constant %type { ptr null, i32 0, i32 8, i64 8, i64 8, i64 0, i64 0, ptr null, i64 0, ptr null }
@custom = constant %type { ptr null, i32 6, i32 8, i64 2048, i64 0, i64 0, i64 0, ptr null, i64 0, ptr @native }
@weak = constant %type { ptr null, i32 4, i32 8, i64 16, i64 0, i64 0, i64 0, ptr null, i64 0, ptr null }
@changing = global %type { ptr null, i32 1, i32 8, i64 2048, i64 0, i64 0, i64 1, ptr null, i64 0, ptr null }
declare noalias ptr addrspace(10) @julia.gc_alloc_obj(ptr, i64, ptr addrspace(10))
declare token @llvm.julia.gc_preserve_begin(...)
declare void @llvm.julia.gc_preserve_end(token)
declare ptr addrspace(10) @julia.typeof(ptr addrspace(10))
declare void @native()
declare void @takes(ptr addrspace(10))
declare i32 @setjmp(ptr) returns_twice

; The loop has safepoints, but the type says that its objects have one size.
; CHECK-LABEL: define ptr addrspace(10) @once_plain(
; CHECK: entry:
; CHECK-NEXT: %o = call {{.*}}gc_alloc_obj(ptr %t, i64 2048,
; CHECK-NEXT: br label %loop
; CHECK: loop:
; CHECK: [[D:%[0-9]+]] = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
; CHECK-NEXT: call void @llvm.memset.p11.i64(ptr addrspace(11) align 8 [[D]], i8 0, i64 2048, i1 false)
; CHECK-NOT: gc_alloc_obj
; CHECK: ret
define ptr addrspace(10) @once_plain(ptr %t, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %t, i64 2048, ptr addrspace(10) addrspacecast (ptr @plain to ptr addrspace(10)))
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %r = load ptr addrspace(10), ptr addrspace(11) %d
  %f = getelementptr i64, ptr addrspace(11) %d, i64 %i
  store i64 %i, ptr addrspace(11) %f
  call void @native()
  %v = load i64, ptr addrspace(11) %f
  %next = add i64 %v, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret ptr addrspace(10) %r
}

; Out of two loops, of which the inner one makes it; its size is only known when the program runs. Nothing is known of
; the type, but there are no other safepoints.
; CHECK-LABEL: define void @once_nested(
; CHECK: entry:
; CHECK-NEXT: call {{.*}}gc_alloc_obj(ptr %t, i64 %size,
; CHECK: outer:
; CHECK-NOT: gc_alloc_obj
; CHECK: call void @llvm.memset.p11.i64({{.*}}, i64 %size, i1 false)
; CHECK-NOT: gc_alloc_obj
; CHECK: ret void
define void @once_nested(ptr %t, i64 %size, ptr addrspace(10) %type, i1 %c, i1 %x) {
entry:
  br label %outer
outer:
  br label %loop
loop:
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %t, i64 %size, ptr addrspace(10) %type)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  store i64 %size, ptr addrspace(11) %d
  br i1 %c, label %loop, label %latch
latch:
  br i1 %x, label %outer, label %done
done:
  ret void
}

; An array, and what is no safepoint any more when it is looked at: an object of one size.
; CHECK-LABEL: define i64 @once_both(
; CHECK: entry:
; CHECK-NEXT: call {{.*}}@plain
; CHECK-NEXT: call {{.*}}@array
; CHECK: loop:
; CHECK-NOT: gc_alloc_obj
; CHECK: ret i64
define i64 @once_both(ptr %t, i1 %c) {
entry:
  br label %loop
loop:
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %t, i64 80, ptr addrspace(10) addrspacecast (ptr @array to ptr addrspace(10)))
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  store i64 9, ptr addrspace(11) %d
  %p = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %t, i64 2048, ptr addrspace(10) addrspacecast (ptr @plain to ptr addrspace(10)))
  %e = addrspacecast ptr addrspace(10) %p to ptr addrspace(11)
  %f = getelementptr i64, ptr addrspace(11) %e, i64 1
  store i64 2, ptr addrspace(11) %f
  %v = load i64, ptr addrspace(11) %f
  br i1 %c, label %loop, label %done
done:
  ret i64 %v
}

; The other safepoint is a call of native code, which is not moved.
; CHECK-LABEL: define void @array_with_safepoint(
; CHECK: loop:
; CHECK-NEXT: call {{.*}}@array
; CHECK: ret void
define void @array_with_safepoint(ptr %t, i1 %c) {
entry:
  br label %loop
loop:
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %t, i64 80, ptr addrspace(10) addrspacecast (ptr @array to ptr addrspace(10)))
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  store i64 9, ptr addrspace(11) %d
  call void @native()
  br i1 %c, label %loop, label %done
done:
  ret void
}

; Functions of clients look at it; the type may change; objects are weak. All of them would be moved if @plain were their type.
; CHECK-LABEL: define void @types(
; CHECK: custom:
; CHECK-NEXT: call {{.*}}@custom
; CHECK: changing:
; CHECK-NEXT: call {{.*}}@changing
; CHECK: weak:
; CHECK-NEXT: call {{.*}}@weak
; CHECK: ret void
define void @types(ptr %t, i1 %c) {
entry:
  br label %custom
custom:
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %t, i64 2048, ptr addrspace(10) addrspacecast (ptr @custom to ptr addrspace(10)))
  call void @native()
  br i1 %c, label %custom, label %second
second:
  br label %changing
changing:
  %p = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %t, i64 2048, ptr addrspace(10) addrspacecast (ptr @changing to ptr addrspace(10)))
  call void @native()
  br i1 %c, label %changing, label %third
third:
  br label %weak
weak:
  %q = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %t, i64 16, ptr addrspace(10) addrspacecast (ptr @weak to ptr addrspace(10)))
  br i1 %c, label %weak, label %done
done:
  ret void
}

; Some turns do not make it, in the first one something else may happen before, or the loop has none of these turns.
; CHECK-LABEL: define void @conditions(
; CHECK: maybe:
; CHECK-NEXT: call {{.*}}gc_alloc_obj
; CHECK: behind:
; CHECK-NEXT: call void @native()
; CHECK-NEXT: call {{.*}}gc_alloc_obj
; CHECK: body:
; CHECK-NEXT: call {{.*}}gc_alloc_obj
; CHECK: ret void
define void @conditions(ptr %t, i1 %c, i1 %x) {
entry:
  br label %loop
loop:
  br i1 %x, label %maybe, label %latch
maybe:
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %t, i64 2048, ptr addrspace(10) addrspacecast (ptr @plain to ptr addrspace(10)))
  br label %latch
latch:
  br i1 %c, label %loop, label %second
second:
  br label %behind
behind:
  call void @native()
  %p = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %t, i64 2048, ptr addrspace(10) addrspacecast (ptr @plain to ptr addrspace(10)))
  br i1 %c, label %behind, label %third
third:
  br label %head
head:
  br i1 %c, label %body, label %done
body:
  %q = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %t, i64 2048, ptr addrspace(10) addrspacecast (ptr @plain to ptr addrspace(10)))
  br label %head
done:
  ret void
}

; It escapes, is the next turn's too, is looked at behind the loop, refers to another object, is preserved, or has another
; size or type in each turn.
; CHECK-LABEL: define void @uses(
; CHECK: escapes:
; CHECK-NEXT: call {{.*}}gc_alloc_obj
; CHECK: carried:
; CHECK: call {{.*}}gc_alloc_obj
; CHECK: behind:
; CHECK-NEXT: call {{.*}}gc_alloc_obj
; CHECK: refers:
; CHECK-NEXT: call {{.*}}gc_alloc_obj
; CHECK: kept:
; CHECK-NEXT: call {{.*}}gc_alloc_obj
; CHECK: sizes:
; CHECK: call {{.*}}gc_alloc_obj
; CHECK: types:
; CHECK: call {{.*}}gc_alloc_obj
; CHECK: ret void
define void @uses(ptr %t, i1 %c, ptr addrspace(10) %r) {
entry:
  br label %escapes
escapes:
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %t, i64 2048, ptr addrspace(10) addrspacecast (ptr @plain to ptr addrspace(10)))
  call void @takes(ptr addrspace(10) %o)
  br i1 %c, label %escapes, label %second
second:
  br label %carried
carried:
  %last = phi ptr addrspace(10) [ %r, %second ], [ %p, %carried ]
  %p = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %t, i64 2048, ptr addrspace(10) addrspacecast (ptr @plain to ptr addrspace(10)))
  br i1 %c, label %carried, label %third
third:
  br label %behind
behind:
  %q = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %t, i64 2048, ptr addrspace(10) addrspacecast (ptr @plain to ptr addrspace(10)))
  br i1 %c, label %behind, label %fourth
fourth:
  %d = addrspacecast ptr addrspace(10) %q to ptr addrspace(11)
  %v = load ptr addrspace(10), ptr addrspace(11) %d
  br label %refers
refers:
  %s = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %t, i64 2048, ptr addrspace(10) addrspacecast (ptr @plain to ptr addrspace(10)))
  %e = addrspacecast ptr addrspace(10) %s to ptr addrspace(11)
  store ptr addrspace(10) %r, ptr addrspace(11) %e
  br i1 %c, label %refers, label %fifth
fifth:
  br label %kept
kept:
  %u = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %t, i64 2048, ptr addrspace(10) addrspacecast (ptr @plain to ptr addrspace(10)))
  %k = call token (...) @llvm.julia.gc_preserve_begin(ptr addrspace(10) %u)
  call void @llvm.julia.gc_preserve_end(token %k)
  br i1 %c, label %kept, label %sixth
sixth:
  br label %sizes
sizes:
  %size = phi i64 [ 8, %sixth ], [ %size1, %sizes ]
  %w = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %t, i64 %size, ptr addrspace(10) %r)
  %size1 = add i64 %size, 8
  br i1 %c, label %sizes, label %seventh
seventh:
  br label %types
types:
  %type = phi ptr addrspace(10) [ %r, %seventh ], [ %type1, %types ]
  %x = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %t, i64 8, ptr addrspace(10) %type)
  %type1 = call ptr addrspace(10) @julia.typeof(ptr addrspace(10) %type)
  br i1 %c, label %types, label %done
done:
  ret void
}

; A second return would find what a later turn has left in the object.
; CHECK-LABEL: define void @twice(
; CHECK: loop:
; CHECK-NEXT: call {{.*}}gc_alloc_obj
; CHECK: ret void
define void @twice(ptr %t, i1 %c, ptr %buffer) {
entry:
  br label %loop
loop:
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %t, i64 2048, ptr addrspace(10) addrspacecast (ptr @plain to ptr addrspace(10)))
  %r = call i32 @setjmp(ptr %buffer) returns_twice
  br i1 %c, label %loop, label %done
done:
  ret void
}
