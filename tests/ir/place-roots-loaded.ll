; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; A pointer in 13 that was loaded belongs to the object that it was loaded from, in whatever shape it was loaded and passed on. While it lives
; across a safepoint, that object is live and pinned. `%o` is the owner in each function.

; RUN: rm -rf %t && split-file %s %t
; RUN: %tenon opt --passes=gc-verify-strong,scalarize,place-roots %t/good.ll | FileCheck %t/good.ll --implicit-check-not=gc.relocate.p13
; RUN: %tenon compile -O0 %t/good.ll -o %t/good.o
; RUN: %tenon compile -O3 %t/good.ll -o %t/good.o
; RUN: not %tenon opt --passes=scalarize,place-roots %t/unknown.ll 2>&1 | FileCheck %t/unknown.ll --implicit-check-not=error:

;--- good.ll
declare void @native(...)
declare ptr @malloc(i64) "gc-leaf-function"

; CHECK-LABEL: define i64 @plain(
; CHECK: store ptr addrspace(10) %o, ptr %pinned
; CHECK: "gc-live"({{.*}}ptr %pinned) ]
; CHECK: load i64, ptr addrspace(13) %l
define i64 @plain(ptr addrspace(10) %o) gc "tenon" {
  %l = load ptr addrspace(13), ptr addrspace(10) %o
  call void (...) @native()
  %v = load i64, ptr addrspace(13) %l
  ret i64 %v
}

; From the inside of an object; a part of what was loaded.
; CHECK-LABEL: define i64 @inside(
; CHECK: store ptr addrspace(10) %o, ptr %pinned
; CHECK: "gc-live"({{.*}}ptr %pinned) ]
define i64 @inside(ptr addrspace(10) %o, i64 %n) gc "tenon" {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %p = getelementptr i64, ptr addrspace(11) %d, i64 %n
  %l = load ptr addrspace(13), ptr addrspace(11) %p
  %g = getelementptr i64, ptr addrspace(13) %l, i64 %n
  %f = freeze ptr addrspace(13) %g
  call void (...) @native()
  %v = load i64, ptr addrspace(13) %f
  ret i64 %v
}

; Twice: the memory that the first pointer leads to is the object's, and so is what that leads to.
; CHECK-LABEL: define i64 @twice(
; CHECK: store ptr addrspace(10) %o, ptr %pinned
; CHECK: "gc-live"({{.*}}ptr %pinned) ]
define i64 @twice(ptr addrspace(10) %o) gc "tenon" {
  %l = load ptr addrspace(13), ptr addrspace(10) %o
  %m = load atomic ptr addrspace(13), ptr addrspace(13) %l acquire, align 8
  call void (...) @native()
  %v = load i64, ptr addrspace(13) %m
  ret i64 %v
}

; Passed to a call; live only there.
; CHECK-LABEL: define void @passed(
; CHECK: store ptr addrspace(10) %o, ptr %pinned
; CHECK: "gc-live"(ptr %pinned) ]
define void @passed(ptr addrspace(10) %o) gc "tenon" {
  %l = load ptr addrspace(13), ptr addrspace(10) %o
  call void (...) @native(ptr addrspace(13) %l)
  ret void
}

; The owner of a choice is chosen likewise.
; CHECK-LABEL: define i64 @select(
; CHECK: [[B:%base.*]] = select i1 %c, ptr addrspace(10) %o, ptr addrspace(10) %p
; CHECK: store ptr addrspace(10) [[B]], ptr %pinned
; CHECK: "gc-live"({{.*}}ptr %pinned) ]
define i64 @select(ptr addrspace(10) %o, ptr addrspace(10) %p, i1 %c) gc "tenon" {
  %l = load ptr addrspace(13), ptr addrspace(10) %o
  %m = load ptr addrspace(13), ptr addrspace(10) %p
  %s = select i1 %c, ptr addrspace(13) %l, ptr addrspace(13) %m
  call void (...) @native()
  %v = load i64, ptr addrspace(13) %s
  ret i64 %v
}

; One way it is memory that no object owns.
; CHECK-LABEL: define i64 @phi(
; CHECK: [[B:%base.*]] = phi ptr addrspace(10) [ %o, %load ], [ null, %0 ]
; CHECK: store ptr addrspace(10) [[B]], ptr %pinned
; CHECK: "gc-live"({{.*}}ptr %pinned) ]
define i64 @phi(ptr addrspace(10) %o, i1 %c) gc "tenon" {
  %m = call ptr @malloc(i64 8)
  %n = addrspacecast ptr %m to ptr addrspace(13)
  br i1 %c, label %load, label %join
load:
  %l = load ptr addrspace(13), ptr addrspace(10) %o
  br label %join
join:
  %s = phi ptr addrspace(13) [ %l, %load ], [ %n, %0 ]
  call void (...) @native()
  %v = load i64, ptr addrspace(13) %s
  ret i64 %v
}

; CHECK-LABEL: define i64 @loop(
; CHECK: loop:
; CHECK: [[B:%.*]] = phi ptr addrspace(10)
; CHECK: store ptr addrspace(10) [[B]], ptr %pinned
; CHECK: "gc-live"({{.*}}ptr %pinned) ]
define i64 @loop(ptr addrspace(10) %o, i64 %n) gc "tenon" {
  %l = load ptr addrspace(13), ptr addrspace(10) %o
  br label %loop
loop:
  %s = phi ptr addrspace(13) [ %l, %0 ], [ %t, %loop ]
  %i = phi i64 [ 0, %0 ], [ %j, %loop ]
  call void (...) @native()
  %t = getelementptr i64, ptr addrspace(13) %s, i64 1
  %j = add i64 %i, 1
  %c = icmp ult i64 %j, %n
  br i1 %c, label %loop, label %done
done:
  %v = load i64, ptr addrspace(13) %t
  ret i64 %v
}

; CHECK-LABEL: define i64 @vector(
; CHECK: store ptr addrspace(10) %o, ptr %pinned
; CHECK: "gc-live"({{.*}}ptr %pinned) ]
define i64 @vector(ptr addrspace(10) %o) gc "tenon" {
  %l = load <2 x ptr addrspace(13)>, ptr addrspace(10) %o
  %g = getelementptr i64, <2 x ptr addrspace(13)> %l, i64 1
  call void (...) @native()
  %e = extractelement <2 x ptr addrspace(13)> %g, i64 1
  %v = load i64, ptr addrspace(13) %e
  ret i64 %v
}

; CHECK-LABEL: define i64 @struct(
; CHECK: store ptr addrspace(10) %o, ptr %pinned
; CHECK: "gc-live"({{.*}}ptr %pinned) ]
define i64 @struct(ptr addrspace(10) %o) gc "tenon" {
  %l = load { i64, [2 x ptr addrspace(13)] }, ptr addrspace(10) %o
  call void (...) @native()
  %e = extractvalue { i64, [2 x ptr addrspace(13)] } %l, 1, 1
  %v = load i64, ptr addrspace(13) %e
  ret i64 %v
}

; An element that the mask leaves out belongs to the object that the other vector was loaded from.
; CHECK-LABEL: define i64 @masked(
; CHECK: [[M:%.*]] = extractelement <2 x i1> %mask, i32 1
; CHECK: [[B:%base.*]] = select i1 [[M]], ptr addrspace(10) %o, ptr addrspace(10) %p
; CHECK: store ptr addrspace(10) [[B]], ptr %pinned
; CHECK: "gc-live"({{.*}}ptr %pinned) ]
define i64 @masked(ptr addrspace(10) %o, ptr addrspace(10) %p, <2 x i1> %mask) gc "tenon" {
  %other = load <2 x ptr addrspace(13)>, ptr addrspace(10) %p
  %l = call <2 x ptr addrspace(13)> @llvm.masked.load.v2p13.p10(ptr addrspace(10) align 8 %o, <2 x i1> %mask, <2 x ptr addrspace(13)> %other)
  call void (...) @native()
  %e = extractelement <2 x ptr addrspace(13)> %l, i64 1
  %v = load i64, ptr addrspace(13) %e
  ret i64 %v
}

; Each element has an owner of its own.
; CHECK-LABEL: define i64 @gathered(
; CHECK: store ptr addrspace(10) %p, ptr %pinned
; CHECK-NOT: store
; CHECK: "gc-live"(ptr addrspace(10) %p, ptr %pinned) ]
define i64 @gathered(ptr addrspace(10) %o, ptr addrspace(10) %p) gc "tenon" {
  %a = insertelement <2 x ptr addrspace(10)> poison, ptr addrspace(10) %o, i32 0
  %b = insertelement <2 x ptr addrspace(10)> %a, ptr addrspace(10) %p, i32 1
  %d = addrspacecast <2 x ptr addrspace(10)> %b to <2 x ptr addrspace(11)>
  %g = getelementptr i64, <2 x ptr addrspace(11)> %d, i64 1
  %l = call <2 x ptr addrspace(13)> @llvm.masked.gather.v2p13.v2p11(<2 x ptr addrspace(11)> align 8 %g, <2 x i1> <i1 true, i1 true>, <2 x ptr addrspace(13)> poison)
  call void (...) @native()
  %e = extractelement <2 x ptr addrspace(13)> %l, i64 1
  %v = load i64, ptr addrspace(13) %e
  ret i64 %v
}

; CHECK-LABEL: define i64 @predicated(
; CHECK: store ptr addrspace(10) %o, ptr %pinned
; CHECK: "gc-live"({{.*}}ptr %pinned) ]
define i64 @predicated(ptr addrspace(10) %o, <2 x i1> %mask, i32 %n) gc "tenon" {
  %l = call <2 x ptr addrspace(13)> @llvm.vp.load.v2p13.p10(ptr addrspace(10) align 8 %o, <2 x i1> %mask, i32 %n)
  call void (...) @native()
  %e = extractelement <2 x ptr addrspace(13)> %l, i64 1
  %v = load i64, ptr addrspace(13) %e
  ret i64 %v
}

; A store through such a pointer has a barrier for the owner (tests/ir/barriers.ll). Here: an owner of two loaded pointers is pinned once.
; CHECK-LABEL: define i64 @both(
; CHECK: store ptr addrspace(10) %o, ptr %pinned
; CHECK-NOT: store
; CHECK: "gc-live"({{.*}}ptr %pinned) ]
define i64 @both(ptr addrspace(10) %o) gc "tenon" {
  %l = load ptr addrspace(13), ptr addrspace(10) %o
  %m = load ptr addrspace(13), ptr addrspace(13) %l
  call void (...) @native()
  %v = load i64, ptr addrspace(13) %l
  %w = load i64, ptr addrspace(13) %m
  %s = add i64 %v, %w
  ret i64 %s
}

; Loaded from memory outside of objects: nothing has to be kept.
; CHECK-LABEL: define i64 @outside(
; CHECK: @native, i32 0, i32 0){{$}}
define i64 @outside(ptr %p) gc "tenon" {
  %l = load ptr addrspace(13), ptr %p
  call void (...) @native()
  %v = load i64, ptr addrspace(13) %l
  ret i64 %v
}

;--- unknown.ll
declare void @native(...)
declare <2 x ptr addrspace(11)> @llvm.vector.reverse.v2p11(<2 x ptr addrspace(11)>)

; What leads to no object would go stale at a safepoint; elsewhere it does no harm.
; CHECK: error: in function 'asm': %p = call {{.*}} [base]
define i64 @asm() gc "tenon" {
  %p = call ptr addrspace(11) asm "", "=r"()
  call void (...) @native()
  %v = load i64, ptr addrspace(11) %p
  ret i64 %v
}

; CHECK: error: in function 'reversed': {{.*}} = extractelement {{.*}} [base]
define i64 @reversed(<2 x ptr addrspace(10)> %o) gc "tenon" {
  %d = addrspacecast <2 x ptr addrspace(10)> %o to <2 x ptr addrspace(11)>
  %r = call <2 x ptr addrspace(11)> @llvm.vector.reverse.v2p11(<2 x ptr addrspace(11)> %d)
  call void (...) @native()
  %e = extractelement <2 x ptr addrspace(11)> %r, i32 0
  %v = load i64, ptr addrspace(11) %e
  ret i64 %v
}

; CHECK: error: in function 'chosen': %p = call {{.*}} [base]
define i64 @chosen(ptr addrspace(10) %o, i1 %c) gc "tenon" {
  %p = call ptr addrspace(11) asm "", "=r"()
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %s = select i1 %c, ptr addrspace(11) %p, ptr addrspace(11) %d
  call void (...) @native()
  %v = load i64, ptr addrspace(11) %s
  ret i64 %v
}

define i64 @before() gc "tenon" {
  %p = call ptr addrspace(11) asm "", "=r"()
  %v = load i64, ptr addrspace(11) %p
  call void (...) @native(i64 %v)
  ret i64 %v
}
