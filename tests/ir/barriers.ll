; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; A barrier before each store of a reference into an object, but where none is needed: for objects that are not logged, and young values, or permanent objects.

; RUN: %tenon opt --passes=insert-barriers --stats %s 2>%t.stats | FileCheck %s --implicit-check-not='call preserve_mostcc void'
; RUN: FileCheck %s --check-prefix=STATS --input-file=%t.stats
; STATS: 17 barriers
; STATS: 3 stores without barrier
; RUN: %tenon opt --passes='tenon<level=0>' %s | FileCheck %s --check-prefix=LEVEL0

declare ptr addrspace(10) @julia.gc_alloc_obj(ptr, i64, ptr addrspace(10))
declare void @julia.write_barrier(ptr addrspace(10), ...)
declare void @native()

; CHECK-LABEL: define void @store(
; CHECK: [[D:%.*]] = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
; CHECK: [[H:%.*]] = getelementptr i8, ptr addrspace(11) %{{.*}}, i64 -8
; CHECK: [[HEADER:%.*]] = load i64, ptr addrspace(11) [[H]]
; CHECK: [[BIT:%.*]] = and i64 [[HEADER]], 2
; CHECK: [[QUIET:%.*]] = icmp eq i64 [[BIT]], 0
; CHECK: br i1 [[QUIET]], label %[[STORE:.*]], label %log, !prof
; CHECK: log:
; CHECK: [[RAW:%.*]] = addrspacecast ptr addrspace(10) %o to ptr{{$}}
; CHECK: [[SLOT:%.*]] = addrspacecast ptr addrspace(11) %p to ptr{{$}}
; CHECK: [[VALUE:%.*]] = addrspacecast ptr addrspace(10) %x to ptr{{$}}
; CHECK: [[PERMANENT_BIT:%.*]] = and i64 [[HEADER]], 1
; CHECK: [[ORDINARY:%.*]] = icmp eq i64 [[PERMANENT_BIT]], 0
; CHECK: br i1 [[ORDINARY]], label %ordinary, label %young, !prof
; CHECK: ordinary:
; CHECK: [[YOUNG_AT:%.*]] = getelementptr i8, ptr %block, i64 48
; CHECK: [[YOUNG:%.*]] = load i64, ptr [[YOUNG_AT]]
; CHECK: [[SIZE_AT:%.*]] = getelementptr i8, ptr %block, i64 56
; CHECK: [[SIZE:%.*]] = load i64, ptr [[SIZE_AT]]
; CHECK: [[NUMBER:%.*]] = ptrtoint ptr [[VALUE]] to i64
; CHECK: [[DISTANCE:%.*]] = xor i64 [[NUMBER]], [[YOUNG]]
; CHECK: [[OLD:%.*]] = icmp uge i64 [[DISTANCE]], [[SIZE]]
; CHECK: br i1 [[OLD]], label %[[STORE]], label %young
; CHECK: young:
; CHECK: call preserve_mostcc void @tn__gc_log(ptr [[RAW]], ptr [[SLOT]], ptr [[VALUE]])
; CHECK: store ptr addrspace(10) %x, ptr addrspace(11) %p
; CHECK-NOT: write_barrier
; CHECK: ret void
define void @store(ptr addrspace(10) %o, ptr addrspace(10) %x) {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %p = getelementptr i8, ptr addrspace(11) %d, i64 8
  store ptr addrspace(10) %x, ptr addrspace(11) %p
  call void (ptr addrspace(10), ...) @julia.write_barrier(ptr addrspace(10) %o, ptr addrspace(10) %x)
  ret void
}

; Through a pointer in 13 that was loaded: the object that owns the memory is the one that it was loaded from. The word is not
; the object's: its memory may be gone when the object lives on.
; CHECK-LABEL: define void @loaded(
; CHECK: [[RAW:%.*]] = addrspacecast ptr addrspace(10) %o to ptr{{$}}
; CHECK: call preserve_mostcc void @tn__gc_log(ptr [[RAW]], ptr null, ptr %{{.*}})
; CHECK: store ptr addrspace(10) %x, ptr addrspace(13) %l
define void @loaded(ptr addrspace(10) %o, ptr addrspace(10) %x) {
  %l = load ptr addrspace(13), ptr addrspace(10) %o
  store ptr addrspace(10) %x, ptr addrspace(13) %l
  ret void
}

; What is stored may be no object of the heap: then no slot is named, and there is no barrier at all from level 1 on.
; LEVEL0-LABEL: define hidden void @permanent.m(
; LEVEL0: call preserve_mostcc void @tn__gc_log(ptr %{{.*}}, ptr null, ptr @outside)
; LEVEL0: ret void
; CHECK-LABEL: define void @permanent(
; CHECK: store ptr addrspace(10) addrspacecast (ptr @outside to ptr addrspace(10)), ptr addrspace(10) %o
; CHECK: ret void
@outside = constant i64 0
define void @permanent(ptr addrspace(10) %o) {
  store ptr addrspace(10) addrspacecast (ptr @outside to ptr addrspace(10)), ptr addrspace(10) %o
  ret void
}

; Null, numbers, and fresh objects.
; CHECK-LABEL: define void @none(
; CHECK: store ptr addrspace(10) %x, ptr %stack
; CHECK: ret void
define void @none(ptr addrspace(10) %o, ptr addrspace(10) %x, ptr %stack) {
  %n = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) null)
  store ptr addrspace(10) %x, ptr addrspace(10) %n
  store ptr addrspace(10) null, ptr addrspace(10) %o
  store i64 1, ptr addrspace(10) %o
  store ptr addrspace(10) %x, ptr %stack
  ret void
}

; What is remembered is a word, so a barrier before does not cover another word, nor another value.
; CHECK-LABEL: define void @twice(
; CHECK: call preserve_mostcc void
; CHECK: store ptr addrspace(10) %x, ptr addrspace(10) %o
; CHECK: call preserve_mostcc void
; CHECK: store ptr addrspace(10) %y, ptr addrspace(10) %o
; CHECK: ret void
define void @twice(ptr addrspace(10) %o, ptr addrspace(10) %x, ptr addrspace(10) %y) {
  store ptr addrspace(10) %x, ptr addrspace(10) %o
  store ptr addrspace(10) %y, ptr addrspace(10) %o
  ret void
}

; A safepoint ends both.
; CHECK-LABEL: define void @again(
; CHECK: call preserve_mostcc void
; CHECK: call void @native
; CHECK: call preserve_mostcc void
; CHECK: call preserve_mostcc void
define void @again(ptr addrspace(10) %o, ptr addrspace(10) %x) {
  %n = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) null)
  store ptr addrspace(10) %x, ptr addrspace(10) %o
  call void @native()
  store ptr addrspace(10) %x, ptr addrspace(10) %o
  store ptr addrspace(10) %x, ptr addrspace(10) %n
  ret void
}

; Atomics and structs.
; CHECK-LABEL: define void @others(
; CHECK: call preserve_mostcc void
; CHECK: atomicrmw xchg
; CHECK: call preserve_mostcc void
; CHECK: cmpxchg
; CHECK: call preserve_mostcc void @tn__gc_log(ptr %{{.*}}, ptr null, ptr null)
; CHECK: store { i64, ptr addrspace(10) }
define void @others(ptr addrspace(10) %o, ptr addrspace(10) %x, { i64, ptr addrspace(10) } %s, ptr addrspace(10) %p) {
  %a = atomicrmw xchg ptr addrspace(10) %o, ptr addrspace(10) %x seq_cst
  call void @native()
  %c = cmpxchg ptr addrspace(10) %o, ptr addrspace(10) null, ptr addrspace(10) %x seq_cst seq_cst
  store { i64, ptr addrspace(10) } %s, ptr addrspace(10) %p
  ret void
}

; Vectors, and some of their elements.
; CHECK-LABEL: define void @vectors(
; CHECK: call preserve_mostcc void
; CHECK: store <2 x ptr addrspace(10)>
; CHECK: call preserve_mostcc void
; CHECK: call void @llvm.masked.store
define void @vectors(ptr addrspace(10) %o, <2 x ptr addrspace(10)> %v, <2 x i1> %m) {
  store <2 x ptr addrspace(10)> %v, ptr addrspace(10) %o
  call void @native()
  call void @llvm.masked.store.v2p10.p10(<2 x ptr addrspace(10)> %v, ptr addrspace(10) align 8 %o, <2 x i1> %m)
  ret void
}

; The parent of a chosen address is the chosen object; if there may be none, nothing is tested.
; CHECK-LABEL: define void @choice(
; CHECK: %base = select i1 %c, ptr addrspace(10) %o, ptr addrspace(10) null
; CHECK: icmp eq ptr addrspace(10) %base, null
; CHECK: call preserve_mostcc void
define void @choice(i1 %c, ptr addrspace(10) %o, ptr %outside, ptr addrspace(10) %x) {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %u = addrspacecast ptr %outside to ptr addrspace(11)
  %p = select i1 %c, ptr addrspace(11) %d, ptr addrspace(11) %u
  store ptr addrspace(10) %x, ptr addrspace(11) %p
  ret void
}

; The program has chosen the object itself: its choice is the parent, and is tested for null only where it may be none.
; CHECK-LABEL: define void @chosen_by_program(
; CHECK: %o = select i1 %c, ptr addrspace(10) %a, ptr addrspace(10) %b
; CHECK-NOT: %base
; CHECK: [[O:%.*]] = addrspacecast ptr addrspace(10) %o to ptr{{$}}
; CHECK: call preserve_mostcc void @tn__gc_log(ptr [[O]], ptr %{{.*}}, ptr %{{.*}})
define void @chosen_by_program(ptr addrspace(10) %a, ptr addrspace(10) %b, i1 %c) {
  %da = addrspacecast ptr addrspace(10) %a to ptr addrspace(11)
  %db = addrspacecast ptr addrspace(10) %b to ptr addrspace(11)
  %o = select i1 %c, ptr addrspace(10) %a, ptr addrspace(10) %b
  %d = select i1 %c, ptr addrspace(11) %da, ptr addrspace(11) %db
  store ptr addrspace(10) %o, ptr addrspace(11) %d
  ret void
}

; CHECK-LABEL: define void @chosen_or_null(
; CHECK: %base = select i1 %c, ptr addrspace(10) %a, ptr addrspace(10) null
; CHECK: icmp eq ptr addrspace(10) %base, null
; CHECK: call preserve_mostcc void @tn__gc_log(
define void @chosen_or_null(ptr addrspace(10) %a, i1 %c) {
  %da = addrspacecast ptr addrspace(10) %a to ptr addrspace(11)
  %o = select i1 %c, ptr addrspace(10) %a, ptr addrspace(10) null
  %d = select i1 %c, ptr addrspace(11) %da, ptr addrspace(11) null
  store ptr addrspace(10) %o, ptr addrspace(11) %d
  ret void
}

; Copies of memory.
; CHECK-LABEL: define void @copy(
; CHECK: call void @tn__gc_move(ptr %{{.*}}, ptr %{{.*}}, ptr %from, i64 24)
define void @copy(ptr addrspace(10) %o, ptr %from) {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %p = getelementptr i8, ptr addrspace(11) %d, i64 8
  call void @llvm.memcpy.p11.p0.i64(ptr addrspace(11) %p, ptr %from, i64 24, i1 false)
  ret void
}

; Not those of which the object's type says that they are no references, for all bytes of which the length is known.
; CHECK-LABEL: define void @plain_copy(
; CHECK: call void @llvm.memcpy.p11.p0.i64(ptr addrspace(11) %d, ptr %from, i64 24, i1 false)
; CHECK: call void @tn__gc_move(ptr %{{.*}}, ptr %{{.*}}, ptr %from, i64 %n)
define void @plain_copy(ptr %from, i64 %n) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 24, ptr addrspace(10) addrspacecast (ptr @leaf to ptr addrspace(10)))
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  call void @llvm.memcpy.p11.p0.i64(ptr addrspace(11) %d, ptr %from, i64 24, i1 false)
  call void @llvm.memcpy.p11.p0.i64(ptr addrspace(11) %d, ptr %from, i64 %n, i1 false)
  ret void
}
@leaf = constant { ptr, i32, i32, i64, i64, i64, i64, ptr, i64, ptr, [8 x i8] } { ptr null, i32 0, i32 8, i64 24, i64 0, i64 0, i64 0, ptr null, i64 0, ptr null, [8 x i8] zeroinitializer }

declare void @llvm.memcpy.p11.p0.i64(ptr addrspace(11), ptr, i64, i1)
