; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Inline allocation: bump, compare, header, nulls; only the slow side calls.

; RUN: %tenon opt --passes=lower-allocations,finish --stats %s 2>%t.stats | FileCheck %s --implicit-check-not=julia
; RUN: FileCheck %s --check-prefix=STATS --input-file=%t.stats
; STATS: 8 inline allocations

declare ptr addrspace(10) @julia.gc_alloc_obj(ptr, i64, ptr addrspace(10))
declare ptr addrspace(10) @julia.gc_alloc_bytes(ptr, i64, i64)

; 20 bytes are three words; all of them are null.
; CHECK-LABEL: define ptr addrspace(10) @plain(
; CHECK: [[BLOCK:%.*]] = call ptr @llvm.threadlocal.address.p0(ptr @tn__gc_block)
; CHECK: [[TYPE:%.*]] = addrspacecast ptr addrspace(10) %type to ptr
; CHECK: [[BUMP:%.*]] = load ptr, ptr [[BLOCK]]
; CHECK: [[END:%.*]] = getelementptr i8, ptr [[BUMP]], i64 32
; CHECK: [[FIELD:%.*]] = getelementptr i8, ptr [[BLOCK]], i64 8
; CHECK: [[LIMIT:%.*]] = load atomic ptr, ptr [[FIELD]] monotonic, align 8
; CHECK: [[ROOM:%.*]] = icmp ule ptr [[END]], [[LIMIT]]
; CHECK: br i1 [[ROOM]], label %room, label %slow, !prof
; CHECK: room:
; CHECK-NEXT: store ptr [[END]], ptr [[BLOCK]]
; CHECK-NEXT: store ptr [[TYPE]], ptr [[BUMP]]
; CHECK-NEXT: [[RAW:%.*]] = getelementptr i8, ptr [[BUMP]], i64 8
; CHECK-NEXT: call void @llvm.memset.p0.i64(ptr align 8 [[RAW]], i8 0, i64 24, i1 false)
; CHECK: slow:
; CHECK-NEXT: [[SLOW:%.*]] = call ptr addrspace(10) @tn__gc_allocate(i64 20, ptr [[TYPE]])
; CHECK: phi ptr addrspace(10) [ %{{.*}}, %room ], [ [[SLOW]], %slow ]
define ptr addrspace(10) @plain(ptr addrspace(10) %type) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 20, ptr addrspace(10) %type)
  ret ptr addrspace(10) %o
}

; What is stored at once is not nulled; a word behind a load is.
; CHECK-LABEL: define ptr addrspace(10) @stored(
; CHECK: room:
; CHECK: [[RAW:%.*]] = getelementptr i8, ptr %{{.*}}, i64 8
; CHECK-NEXT: [[AT:%.*]] = getelementptr i8, ptr [[RAW]], i64 16
; CHECK-NEXT: call void @llvm.memset.p0.i64(ptr align 8 [[AT]], i8 0, i64 8, i1 false)
; CHECK-NEXT: addrspacecast
define ptr addrspace(10) @stored(ptr addrspace(10) %type, ptr addrspace(10) %x) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 24, ptr addrspace(10) %type)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  store ptr addrspace(10) %x, ptr addrspace(11) %d
  %p = getelementptr i8, ptr addrspace(11) %d, i64 8
  store i64 1, ptr addrspace(11) %p
  %q = getelementptr i8, ptr addrspace(11) %d, i64 16
  %l = load ptr addrspace(10), ptr addrspace(11) %q
  store ptr addrspace(10) %l, ptr addrspace(11) %q
  ret ptr addrspace(10) %o
}

; Bundles say which words are references.
; CHECK-LABEL: define ptr addrspace(10) @bundles(
; CHECK: room:
; CHECK: getelementptr i8, ptr %{{.*}}, i64 8
; CHECK: call void @llvm.memset.p0.i64(ptr align 8 %{{.*}}, i8 0, i64 8, i1 false)
; CHECK: getelementptr i8, ptr %{{.*}}, i64 32
; CHECK: call void @llvm.memset.p0.i64(ptr align 8 %{{.*}}, i8 0, i64 16, i1 false)
; CHECK-NEXT: addrspacecast
define ptr addrspace(10) @bundles(ptr addrspace(10) %type) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 48, ptr addrspace(10) %type) [ "julia.gc_alloc_ptr_offsets"(i64 8, i64 32, i64 40) ]
  ret ptr addrspace(10) %o
}

; Payloads aligned to 16 have a zero word in front of their header.
; CHECK-LABEL: define ptr addrspace(10) @aligned(
; CHECK: add i64 %{{.*}}, 23
; CHECK: and i64 %{{.*}}, -16
; CHECK: sub i64 %{{.*}}, 8
; CHECK: room:
; CHECK: store i64 0, ptr %bump
define ptr addrspace(10) @aligned(i64 %type) {
  %o = call align 16 ptr addrspace(10) @julia.gc_alloc_bytes(ptr null, i64 16, i64 %type)
  ret ptr addrspace(10) %o
}

; The largest inline payload, and the first that is not.
; CHECK-LABEL: define void @large(
; CHECK: room:
; CHECK: @tn__gc_allocate(i64 8192,
; CHECK-NOT: room{{.*}}:
; CHECK: @tn__gc_allocate(i64 8193,
; CHECK-NOT: room{{.*}}:
; CHECK: @tn__gc_allocate(i64 -1,
; CHECK: ret void
define void @large(ptr addrspace(10) %type) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 8192, ptr addrspace(10) %type)
  %p = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 8193, ptr addrspace(10) %type)
  %q = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 -1, ptr addrspace(10) %type)
  ret void
}

; Of unknown size: perhaps too large, perhaps nothing, which takes a word of payload.
; CHECK-LABEL: define ptr addrspace(10) @unknown(
; CHECK: [[NONE:%.*]] = icmp eq i64 %size, 0
; CHECK: [[UP:%.*]] = add i64 %size, 7
; CHECK: [[ONE:%.*]] = zext i1 [[NONE]] to i64
; CHECK: [[SUM:%.*]] = add i64 [[UP]], [[ONE]]
; CHECK: [[ROUNDED:%.*]] = and i64 [[SUM]], -8
; CHECK: [[FITS:%.*]] = icmp ule i64 %size, 8192
; CHECK: br i1 [[FITS]], label %small, label %slow
; CHECK: small:
; CHECK: add i64 [[ROUNDED]], 8
; CHECK: room:
; CHECK: call void @llvm.memset.p0.i64(ptr align 8 %{{.*}}, i8 0, i64 [[ROUNDED]], i1 false)
; CHECK: slow:
; CHECK-NEXT: @tn__gc_allocate(i64 %size,
define ptr addrspace(10) @unknown(ptr addrspace(10) %type, i64 %size) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 %size, ptr addrspace(10) %type)
  ret ptr addrspace(10) %o
}

; Allocation throws nothing: it is called where it was invoked.
; CHECK-LABEL: define ptr addrspace(10) @invoked(
; CHECK: room:
; CHECK-NOT: invoke {{.*}}alloc
; CHECK: caught:
; CHECK-NEXT: [[PAD:%.*]] = landingpad
define ptr addrspace(10) @invoked(ptr addrspace(10) %type) personality ptr @personality {
  %o = invoke ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) %type) to label %go unwind label %caught
go:
  invoke void @native() to label %done unwind label %caught
done:
  ret ptr addrspace(10) %o
caught:
  %pad = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %pad
}
declare i32 @personality(...)
declare void @native()

; A store of unknown size leaves all words null.
; CHECK-LABEL: define ptr addrspace(10) @scalable(
; CHECK: ret ptr
define ptr addrspace(10) @scalable(<vscale x 2 x i64> %x) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 20, ptr addrspace(10) null)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  store <vscale x 2 x i64> %x, ptr addrspace(11) %d
  ret ptr addrspace(10) %o
}
