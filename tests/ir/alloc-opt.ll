; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; alloc-opt: which objects are deleted, become variables of their fields or one variable, and which stay.

; RUN: %tenon opt --stats --passes=alloc-opt %s -o %t.ll 2>%t.stats
; RUN: FileCheck %s --input-file=%t.ll --implicit-check-not='@julia.write_barrier(ptr addrspace(10) %'
; RUN: FileCheck %s --input-file=%t.stats --check-prefix=STATS
; STATS: 4 allocations removed
; STATS: 7 allocations split into fields
; STATS: 2 allocations in stack memory
; What is left keeps the contract, and becomes machine code.
; RUN: %tenon opt --passes=gc-verify-strong %t.ll -o -  | FileCheck %s --check-prefix=GOOD
; GOOD: @fields
; RUN: %tenon compile -O2 %s -o %t.o
; Not at level 0, and not by llvm_only.
; RUN: %tenon opt --passes='tenon<level=0;no_lower_intrinsics>' %s -o - | FileCheck %s --check-prefix=STAYS
; RUN: %tenon opt --passes='tenon<level=2;llvm_only>' %s -o - | FileCheck %s --check-prefix=STAYS
; STAYS: @fields
; STAYS: @julia.gc_alloc_obj

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"
declare ptr addrspace(10) @julia.gc_alloc_obj(ptr, i64, ptr addrspace(10))
declare ptr addrspace(10) @julia.typeof(ptr addrspace(10))
declare ptr @julia.pointer_from_objref(ptr addrspace(11))
declare ptr addrspace(13) @julia.gc_loaded(ptr addrspace(10), ptr)
declare void @julia.write_barrier(ptr addrspace(10), ...)
declare token @llvm.julia.gc_preserve_begin(...)
declare void @llvm.julia.gc_preserve_end(token)
declare void @llvm.memset.p11.i64(ptr addrspace(11), i8, i64, i1)
declare i32 @setjmp(ptr) returns_twice
declare void @leaf(ptr) "gc-leaf-function"
declare void @takes(ptr addrspace(10))
declare void @native()

; ---- deleted ----

; CHECK-LABEL: @only_written(
; CHECK-NEXT: ret ptr addrspace(10) %tag
define ptr addrspace(10) @only_written(ptr %task, ptr addrspace(10) %tag, i64 %x, ptr addrspace(10) %r) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 24, ptr addrspace(10) %tag)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  store i64 %x, ptr addrspace(11) %d
  %f = getelementptr i64, ptr addrspace(11) %d, i64 %x
  store ptr addrspace(10) %r, ptr addrspace(11) %f
  call void (ptr addrspace(10), ...) @julia.write_barrier(ptr addrspace(10) %o, ptr addrspace(10) %r)
  call void @llvm.memset.p11.i64(ptr addrspace(11) %d, i8 1, i64 8, i1 false)
  %t = call ptr addrspace(10) @julia.typeof(ptr addrspace(10) %o)
  ret ptr addrspace(10) %t
}

; What an object referred to goes with it.
; CHECK-LABEL: @both(
; CHECK-NEXT: ret void
define void @both(ptr %task, ptr addrspace(10) %tag) {
  %inner = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 8, ptr addrspace(10) %tag)
  %outer = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 8, ptr addrspace(10) %tag)
  store ptr addrspace(10) %inner, ptr addrspace(10) %outer
  ret void
}

; ---- variables of fields ----

; CHECK-LABEL: @fields(
; CHECK-DAG: alloca ptr addrspace(10), align 8
; CHECK-DAG: alloca [16 x i8], align 16
; CHECK: store ptr addrspace(10) null, ptr %field
; CHECK: store i64 %x, ptr
; CHECK: store ptr addrspace(10) %r, ptr %field
; CHECK: ret ptr addrspace(10)
define ptr addrspace(10) @fields(ptr %task, ptr addrspace(10) %tag, i64 %x, ptr addrspace(10) %r) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 24, ptr addrspace(10) %tag)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %f1 = getelementptr i8, ptr addrspace(11) %d, i64 8
  store i64 %x, ptr addrspace(11) %f1
  %f2 = getelementptr i8, ptr addrspace(11) %d, i64 16
  store ptr addrspace(10) %r, ptr addrspace(11) %f2
  call void (ptr addrspace(10), ...) @julia.write_barrier(ptr addrspace(10) %o, ptr addrspace(10) %r)
  call void @native()
  %v = load ptr addrspace(10), ptr addrspace(11) %f2
  %w = load volatile i64, ptr addrspace(11) %f1
  ret ptr addrspace(10) %v
}

; Each turn of a loop has an object of its own, which is null again.
; CHECK-LABEL: @loop(
; CHECK: head:
; CHECK: call void @llvm.memset.p0.i64(ptr align 1 %field, i8 0, i64 8, i1 false)
; CHECK: load i64, ptr %field, align 8{{$}}
define i64 @loop(ptr %task, ptr addrspace(10) %tag, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %head ]
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 8, ptr addrspace(10) %tag)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %old = load i64, ptr addrspace(11) %d, !invariant.load !0, !tbaa !1
  store i64 %i, ptr addrspace(11) %d
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %head, label %done
done:
  ret i64 %old
}

; Accesses that overlap are one field; atomic ones stay what they are.
; CHECK-LABEL: @overlap(
; CHECK: %field = alloca [12 x i8], align 16
; CHECK: atomicrmw add ptr %{{.*}}, i32 1 seq_cst
define i64 @overlap(ptr %task, ptr addrspace(10) %tag) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %p = getelementptr i8, ptr addrspace(11) %d, i64 4
  %a = atomicrmw add ptr addrspace(11) %p, i32 1 seq_cst
  %v = load i64, ptr addrspace(11) %d
  %q = load i64, ptr addrspace(11) %p, align 4
  %s = add i64 %v, %q
  ret i64 %s
}

; A memset makes references null, and every byte of the rest.
; CHECK-LABEL: @cleared(
; CHECK: store ptr addrspace(10) %r, ptr %field
; CHECK-DAG: store ptr addrspace(10) null, ptr %field
; CHECK-DAG: call void @llvm.memset.p0.i64({{.*}}, i8 0, i64 4, i1 false)
; CHECK: load ptr addrspace(10), ptr %field
define ptr addrspace(10) @cleared(ptr %task, ptr addrspace(10) %tag, ptr addrspace(10) %r, i64 %x) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %f = getelementptr i8, ptr addrspace(11) %d, i64 8
  store ptr addrspace(10) %r, ptr addrspace(11) %d
  store i64 %x, ptr addrspace(11) %f
  call void @llvm.memset.p11.i64(ptr addrspace(11) %d, i8 0, i64 12, i1 false)
  %v = load ptr addrspace(10), ptr addrspace(11) %d
  %w = load volatile i64, ptr addrspace(11) %f
  ret ptr addrspace(10) %v
}

; What only keeps the object alive forgets it.
; CHECK-LABEL: @preserved(
; CHECK: @llvm.julia.gc_preserve_begin(ptr addrspace(10) null, ptr addrspace(10) %other)
; CHECK: call void @native() [ "jl_roots"(ptr addrspace(10) null) ]
define i64 @preserved(ptr %task, ptr addrspace(10) %tag, ptr addrspace(10) %other) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %t = call token (...) @llvm.julia.gc_preserve_begin(ptr addrspace(10) %o, ptr addrspace(10) %other)
  call void @native() [ "jl_roots"(ptr addrspace(10) %o) ]
  call void @llvm.julia.gc_preserve_end(token %t)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %v = load i64, ptr addrspace(11) %d
  ret i64 %v
}

; ---- one variable ----

; CHECK-LABEL: @unknown_place(
; CHECK: %object = alloca [8 x i64], align 16
; CHECK: call void @llvm.memset.p0.i64(ptr align 16 %object, i8 0, i64 {{.*}}, i1 false)
; CHECK: getelementptr i64, ptr %object, i64 %i
define i64 @unknown_place(ptr %task, ptr addrspace(10) %tag, i64 %x, i64 %i) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 64, ptr addrspace(10) %tag)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %p = getelementptr i64, ptr addrspace(11) %d, i64 %i
  store i64 %x, ptr addrspace(11) %p
  %v = load i64, ptr addrspace(11) %d
  ret i64 %v
}

; CHECK-LABEL: @unknown_reference(
; CHECK: %object = alloca [4 x ptr addrspace(10)], align 16
; CHECK: store [4 x ptr addrspace(10)] zeroinitializer, ptr %object
define ptr addrspace(10) @unknown_reference(ptr %task, ptr addrspace(10) %tag, ptr addrspace(10) %r, i64 %i) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 32, ptr addrspace(10) %tag)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %p = getelementptr ptr addrspace(10), ptr addrspace(11) %d, i64 %i
  store ptr addrspace(10) %r, ptr addrspace(11) %d
  %v = load ptr addrspace(10), ptr addrspace(11) %p
  ret ptr addrspace(10) %v
}

; ---- kept ----

; Whoever has the address may keep it, also behind the function's end, and a tail call may use it.
; CHECK-LABEL: @address(
; CHECK: @julia.gc_alloc_obj
define i64 @address(ptr %task, ptr addrspace(10) %tag) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 64, ptr addrspace(10) %tag)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %p = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  tail call void @leaf(ptr %p)
  %v = load i64, ptr addrspace(11) %d
  ret i64 %v
}

; What a preserved object or an owner refers to lives as long as that.
; CHECK-LABEL: @preserved_store(
; CHECK: @julia.gc_alloc_obj
define void @preserved_store(ptr %task, ptr addrspace(10) %tag, ptr addrspace(10) %r) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 8, ptr addrspace(10) %tag)
  %t = call token (...) @llvm.julia.gc_preserve_begin(ptr addrspace(10) %o)
  store ptr addrspace(10) %r, ptr addrspace(10) %o
  call void @llvm.julia.gc_preserve_end(token %t)
  ret void
}
; CHECK-LABEL: @owner(
; CHECK: @julia.gc_alloc_obj
define i64 @owner(ptr %task, ptr addrspace(10) %tag, ptr addrspace(10) %r, ptr %p) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  store ptr addrspace(10) %r, ptr addrspace(10) %o
  %l = call ptr addrspace(13) @julia.gc_loaded(ptr addrspace(10) %o, ptr %p)
  %v = load i64, ptr addrspace(13) %l
  ret i64 %v
}

; A bundle of an intrinsic of the contract: whose object it names is another question.
; CHECK-LABEL: @bundle(
; CHECK: @julia.gc_alloc_obj
; CHECK: @julia.typeof(ptr addrspace(10) %x) [ "jl_roots"(ptr addrspace(10) %o) ]
define ptr addrspace(10) @bundle(ptr %task, ptr addrspace(10) %tag, ptr addrspace(10) %x) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 8, ptr addrspace(10) %tag)
  %t = call ptr addrspace(10) @julia.typeof(ptr addrspace(10) %x) [ "jl_roots"(ptr addrspace(10) %o) ]
  ret ptr addrspace(10) %t
}

; Its type is known all the same.
; CHECK-LABEL: @passed(
; CHECK: @julia.gc_alloc_obj
; CHECK-NOT: @julia.typeof
; CHECK: ret ptr addrspace(10) %tag
define ptr addrspace(10) @passed(ptr %task, ptr addrspace(10) %tag) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 8, ptr addrspace(10) %tag)
  call void @takes(ptr addrspace(10) %o)
  %t = call ptr addrspace(10) @julia.typeof(ptr addrspace(10) %o)
  ret ptr addrspace(10) %t
}

; CHECK-LABEL: @returned(
; CHECK: @julia.gc_alloc_obj
define ptr addrspace(10) @returned(ptr %task, ptr addrspace(10) %tag) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 8, ptr addrspace(10) %tag)
  ret ptr addrspace(10) %o
}

; CHECK-LABEL: @stored(
; CHECK: @julia.gc_alloc_obj
define void @stored(ptr %task, ptr addrspace(10) %tag, ptr addrspace(10) %to) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 8, ptr addrspace(10) %tag)
  store ptr addrspace(10) %o, ptr addrspace(10) %to
  ret void
}

; CHECK-LABEL: @chosen(
; CHECK: @julia.gc_alloc_obj
define i64 @chosen(ptr %task, ptr addrspace(10) %tag, i1 %c, ptr addrspace(10) %other) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 8, ptr addrspace(10) %tag)
  %s = select i1 %c, ptr addrspace(10) %o, ptr addrspace(10) %other
  %v = load i64, ptr addrspace(10) %s
  ret i64 %v
}

; A reference and a number in one place, or a part of a reference.
; CHECK-LABEL: @mixed(
; CHECK: @julia.gc_alloc_obj
define i64 @mixed(ptr %task, ptr addrspace(10) %tag, ptr addrspace(10) %r) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 8, ptr addrspace(10) %tag)
  store ptr addrspace(10) %r, ptr addrspace(10) %o
  %v = load i64, ptr addrspace(10) %o
  ret i64 %v
}

; CHECK-LABEL: @half_cleared(
; CHECK: @julia.gc_alloc_obj
define ptr addrspace(10) @half_cleared(ptr %task, ptr addrspace(10) %tag, ptr addrspace(10) %r) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 8, ptr addrspace(10) %tag)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  store ptr addrspace(10) %r, ptr addrspace(11) %d
  call void @llvm.memset.p11.i64(ptr addrspace(11) %d, i8 0, i64 4, i1 false)
  %v = load ptr addrspace(10), ptr addrspace(11) %d
  ret ptr addrspace(10) %v
}

; References whose address native code has; accesses outside; a place far away; a struct with a reference.
; CHECK-LABEL: @address_of_references(
; CHECK: @julia.gc_alloc_obj
define ptr addrspace(10) @address_of_references(ptr %task, ptr addrspace(10) %tag) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 8, ptr addrspace(10) %tag)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %p = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  call void @leaf(ptr %p)
  %v = load ptr addrspace(10), ptr addrspace(11) %d
  ret ptr addrspace(10) %v
}
; CHECK-LABEL: @outside(
; CHECK: @julia.gc_alloc_obj
define i64 @outside(ptr %task, ptr addrspace(10) %tag) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 8, ptr addrspace(10) %tag)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %p = getelementptr i8, ptr addrspace(11) %d, i64 4
  %v = load i64, ptr addrspace(11) %p
  ret i64 %v
}
; CHECK-LABEL: @far(
; CHECK: @julia.gc_alloc_obj
define i64 @far(ptr %task, ptr addrspace(10) %tag) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 8, ptr addrspace(10) %tag)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %p = getelementptr i8, ptr addrspace(11) %d, i64 4294967296
  %q = getelementptr i8, ptr addrspace(11) %p, i64 -4294967296
  %v = load i64, ptr addrspace(11) %q
  %u = load i64, ptr addrspace(11) %p
  %s = add i64 %u, %v
  ret i64 %s
}
; CHECK-LABEL: @aggregate(
; CHECK: @julia.gc_alloc_obj
define { i64, ptr addrspace(10) } @aggregate(ptr %task, ptr addrspace(10) %tag) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) %tag)
  %v = load { i64, ptr addrspace(10) }, ptr addrspace(10) %o
  ret { i64, ptr addrspace(10) } %v
}

; CHECK-LABEL: @large(
; CHECK: @julia.gc_alloc_obj
define i64 @large(ptr %task, ptr addrspace(10) %tag, i64 %i) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 1032, ptr addrspace(10) %tag)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %p = getelementptr i64, ptr addrspace(11) %d, i64 %i
  %v = load i64, ptr addrspace(11) %p
  ret i64 %v
}

; What a weak reference or an ephemeron refers to may go.
; CHECK-LABEL: @weak(
; CHECK: @julia.gc_alloc_obj
@tn_weak_type = external constant i8
define ptr addrspace(10) @weak(ptr %task, ptr addrspace(10) %r) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 16, ptr addrspace(10) addrspacecast (ptr @tn_weak_type to ptr addrspace(10)))
  store ptr addrspace(10) %r, ptr addrspace(10) %o
  call void @native()
  %v = load ptr addrspace(10), ptr addrspace(10) %o
  ret ptr addrspace(10) %v
}
; CHECK-LABEL: @ephemeron(
; CHECK: @julia.gc_alloc_obj
@pairs = constant { ptr, i32, i32 } { ptr null, i32 5, i32 8 }
define ptr addrspace(10) @ephemeron(ptr %task, ptr addrspace(10) %r) {
  %tag = addrspacecast ptr @pairs to ptr addrspace(10)
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 24, ptr addrspace(10) %tag)
  store ptr addrspace(10) %r, ptr addrspace(10) %o
  call void @native()
  %v = load ptr addrspace(10), ptr addrspace(10) %o
  ret ptr addrspace(10) %v
}

; After a longjmp the object has what was stored since; a variable need not.
; CHECK-LABEL: @twice(
; CHECK: @julia.gc_alloc_obj
define i64 @twice(ptr %task, ptr addrspace(10) %tag, ptr %buffer) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 8, ptr addrspace(10) %tag)
  %j = call i32 @setjmp(ptr %buffer)
  %w = sext i32 %j to i64
  store i64 %w, ptr addrspace(10) %o
  %v = load i64, ptr addrspace(10) %o
  ret i64 %v
}

; It was written to before the call, and never after.
; CHECK-LABEL: @before_twice(
; CHECK-NOT: @julia.gc_alloc_obj
; CHECK: ret i64
define i64 @before_twice(ptr %task, ptr addrspace(10) %tag, ptr %buffer, i64 %x) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 8, ptr addrspace(10) %tag)
  store i64 %x, ptr addrspace(10) %o
  %j = call i32 @setjmp(ptr %buffer)
  call void @native()
  %v = load i64, ptr addrspace(10) %o
  ret i64 %v
}

; The loop comes to the store again, behind a call.
; CHECK-LABEL: @twice_in_loop(
; CHECK: @julia.gc_alloc_obj
define i64 @twice_in_loop(ptr %task, ptr addrspace(10) %tag, ptr %buffer, i64 %x) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 8, ptr addrspace(10) %tag)
  br label %loop
loop:
  store i64 %x, ptr addrspace(10) %o
  %j = call i32 @setjmp(ptr %buffer)
  %v = load i64, ptr addrspace(10) %o
  %more = icmp slt i64 %v, 0
  br i1 %more, label %loop, label %end
end:
  ret i64 %v
}

; The next turn makes it anew, when the last one's buffer is still there.
; CHECK-LABEL: @anew_in_loop(
; CHECK: @julia.gc_alloc_obj
define i64 @anew_in_loop(ptr %task, ptr addrspace(10) %tag, ptr %buffer, i64 %x) {
  br label %loop
loop:
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 8, ptr addrspace(10) %tag)
  store i64 %x, ptr addrspace(10) %o
  %j = call i32 @setjmp(ptr %buffer)
  %v = load i64, ptr addrspace(10) %o
  %more = icmp slt i64 %v, 0
  br i1 %more, label %loop, label %end
end:
  ret i64 %v
}

; Nothing reads it.
; CHECK-LABEL: @written_twice(
; CHECK-NOT: @julia.gc_alloc_obj
; CHECK: ret i32
define i32 @written_twice(ptr %task, ptr addrspace(10) %tag, ptr %buffer, i64 %x) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 8, ptr addrspace(10) %tag)
  %j = call i32 @setjmp(ptr %buffer)
  store i64 %x, ptr addrspace(10) %o
  ret i32 %j
}

; A block that is never reached uses it; a region of preservation that never ends; a way that ends in a call of an error.
; CHECK-LABEL: @dead_block(
; CHECK-NOT: @julia.gc_alloc_obj
; CHECK: @llvm.julia.gc_preserve_begin(ptr addrspace(10) null)
; CHECK: ret i64
define i64 @dead_block(ptr %task, ptr addrspace(10) %tag, i64 %x) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 8, ptr addrspace(10) %tag)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %t = call token (...) @llvm.julia.gc_preserve_begin(ptr addrspace(10) %o)
  store i64 %x, ptr addrspace(11) %d
  call void @native()
  %v = load i64, ptr addrspace(11) %d
  ret i64 %v
dead:
  %w = load i64, ptr addrspace(11) %d
  store i64 1, ptr addrspace(11) %d
  br label %dead
}
; CHECK-LABEL: @error_path(
; CHECK: @julia.gc_alloc_obj
define i64 @error_path(ptr %task, ptr addrspace(10) %tag, i1 %c) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 8, ptr addrspace(10) %tag)
  br i1 %c, label %good, label %bad
good:
  %v = load i64, ptr addrspace(10) %o
  ret i64 %v
bad:
  call void @takes(ptr addrspace(10) %o)
  unreachable
}

!0 = !{}
!1 = !{!2, !2, i64 0, i64 1}
!2 = !{!"jtbaa_const", !3, i64 0}
!3 = !{!"jtbaa"}
