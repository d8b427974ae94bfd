; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; What is a safepoint, and what keeps a value alive at one.

; RUN: %tenon opt --passes=place-roots --stats %s 2>%t.stats | FileCheck %s
; RUN: FileCheck %s --check-prefix=STATS --input-file=%t.stats
; STATS: 2 references in stack memory
; STATS: 2 pinned references

declare void @native(...)
declare i64 @reads(ptr addrspace(10)) memory(none) nounwind
declare void @passed(ptr addrspace(12))
declare void @stores(ptr)
declare ptr @julia.pointer_from_objref(ptr addrspace(10))
declare ptr @julia.get_pgcstack()
declare token @llvm.julia.gc_preserve_begin(...)
declare void @llvm.julia.gc_preserve_end(token)
declare i64 @llvm.ctpop.i64(i64)

; Nothing but its mark exempts a function: others may get polls.
; CHECK-LABEL: define i64 @read_only(
; CHECK: ptr nest @reads, ptr addrspace(10) %o, i32 0, i32 0) [ "gc-live"(ptr addrspace(10) %o) ]
define i64 @read_only(ptr addrspace(10) %o) gc "tenon" {
  %a = call i64 @reads(ptr addrspace(10) %o)
  %b = load i64, ptr addrspace(10) %o
  %c = add i64 %a, %b
  ret i64 %c
}

; LLVM's intrinsics, the contract's that collect nothing, and assembly.
; CHECK-LABEL: define i64 @no_safepoints(
; CHECK-NOT: statepoint
; CHECK: ret i64
define i64 @no_safepoints(ptr addrspace(10) %o) gc "tenon" {
  %p = call ptr @julia.pointer_from_objref(ptr addrspace(10) %o)
  %s = call ptr @julia.get_pgcstack()
  call void asm sideeffect "", "r,r"(ptr %p, ptr %s)
  %v = load i64, ptr addrspace(10) %o
  %n = call i64 @llvm.ctpop.i64(i64 %v)
  ret i64 %n
}

; A phi uses its operand at the end of the block that it comes from, and nowhere else.
; CHECK-LABEL: define ptr addrspace(10) @edges(
; CHECK: one:
; CHECK: "gc-live"(ptr addrspace(10) %a) ]
; CHECK: two:
; CHECK: "gc-live"(ptr addrspace(10) %b) ]
; CHECK: join:
; CHECK-NEXT: phi ptr addrspace(10) [ [[A:%.*]], %one ], [ [[B:%.*]], %two ]
define ptr addrspace(10) @edges(ptr addrspace(10) %a, ptr addrspace(10) %b, i1 %c) gc "tenon" {
  br i1 %c, label %one, label %two
one:
  call void (...) @native()
  br label %join
two:
  call void (...) @native()
  br label %join
join:
  %p = phi ptr addrspace(10) [ %a, %one ], [ %b, %two ]
  ret ptr addrspace(10) %p
}

; What is stored, stored through, loaded through, passed and returned.
; CHECK-LABEL: define ptr addrspace(10) @uses(
; CHECK: "gc-live"(ptr addrspace(10) %a, ptr addrspace(10) %b, ptr addrspace(10) %c, ptr addrspace(10) %d, ptr addrspace(10) %e) ]
; CHECK: "gc-live"(ptr addrspace(10) %{{.*}}) ]
define ptr addrspace(10) @uses(ptr addrspace(10) %a, ptr addrspace(10) %b, ptr addrspace(10) %c, ptr addrspace(10) %d, ptr addrspace(10) %e, ptr %memory) gc "tenon" {
  call void (...) @native()
  store ptr addrspace(10) %a, ptr %memory
  store i64 1, ptr addrspace(10) %b
  %v = load i64, ptr addrspace(10) %c
  call void (...) @native(ptr addrspace(10) %d, i64 %v)
  ret ptr addrspace(10) %e
}

; In 12: needed by the call that it is passed to, so a reference at the safepoint before.
; CHECK-LABEL: define void @callee_rooted(
; CHECK: %base = addrspacecast ptr addrspace(12) %o to ptr addrspace(10)
; CHECK: @native, i32 0, i32 0) [ "gc-live"(ptr addrspace(12) %o, ptr addrspace(10) %base) ]
; CHECK: [[P:%.*]] = call ptr addrspace(12) @llvm.experimental.gc.relocate.p12(token %{{.*}}, i32 1, i32 0)
; CHECK: @passed, ptr addrspace(12) [[P]], i32 0, i32 0){{$}}
define void @callee_rooted(ptr addrspace(12) %o) gc "tenon" {
  call void (...) @native()
  call void @passed(ptr addrspace(12) %o)
  ret void
}

; Preserved wherever the region began and did not end for certain.
; CHECK-LABEL: define void @region(
; CHECK: early:
; CHECK: store ptr addrspace(10) %{{.*}}, ptr %pinned
; CHECK: "gc-live"({{.*}}ptr %pinned) ]
; CHECK: gc_preserve_end
; CHECK: @native, i32 0, i32 0){{.*}}{{$}}
; CHECK: join:
; CHECK: store ptr addrspace(10) %{{.*}}, ptr %pinned
; CHECK: "gc-live"({{.*}}ptr %pinned) ]
define void @region(ptr addrspace(10) %o, i1 %c) gc "tenon" {
  %t = call token (...) @llvm.julia.gc_preserve_begin(ptr addrspace(10) %o)
  br i1 %c, label %early, label %join
early:
  call void (...) @native()
  call void @llvm.julia.gc_preserve_end(token %t)
  call void (...) @native()
  br label %join
join:
  call void (...) @native()
  ret void
}

; A pointer that is one variable or another: both are known, whatever their shapes.
; CHECK-LABEL: define void @either(
; CHECK: @stores, ptr %p, i32 0, i32 0) [ "gc-live"(ptr %one, ptr %pair) ]
define void @either(i1 %c) gc "tenon" {
  %one = alloca ptr addrspace(10)
  %pair = alloca { i64, ptr addrspace(10) }
  %p = select i1 %c, ptr %one, ptr %pair
  call void @stores(ptr %p)
  ret void
}

; What is not defined is null.
; CHECK-LABEL: define i64 @undefined(
; CHECK: phi ptr addrspace(10) [ null, %0 ], [ %o, %some ]
define i64 @undefined(ptr addrspace(10) %o, i1 %c) gc "tenon" {
  br i1 %c, label %some, label %join
some:
  br label %join
join:
  %p = phi ptr addrspace(10) [ undef, %0 ], [ %o, %some ]
  call void (...) @native()
  %v = load i64, ptr addrspace(10) %p
  ret i64 %v
}

; The bundle makes a transition of any call.
; CHECK-LABEL: define void @blocking(
; CHECK: @tn__gc_call_outside, i32 1, i32 0, ptr nest @native, i32 0, i32 0)
; CHECK-NOT: gc-transition
; CHECK: ret void
define void @blocking() gc "tenon" {
  call void (...) @native() [ "gc-transition"() ]
  ret void
}
