; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Stack memory gets types that say where its references are.

; RUN: %tenon verify %s
; RUN: %tenon opt --passes=type-stack %s | FileCheck %s
; RUN: %tenon opt --passes=type-stack,copy-arguments %s | FileCheck %s --check-prefix=COPIED
; RUN: %tenon compile -O0 %s -o %t.o
; RUN: %tenon compile -O2 %s -o %t.o

declare void @native()
declare void @fill(ptr)
declare void @make(ptr sret({ ptr addrspace(10), i64, ptr addrspace(10) }))
declare void @look(ptr byref({ i64, ptr addrspace(10) }))
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memcpy.p0.p11.i64(ptr, ptr addrspace(11), i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; Words that are stored and loaded: the first is a number, the last is not used.
; CHECK-LABEL: define ptr addrspace(10) @stored(
; CHECK-NEXT: %v = alloca <{ i64, ptr addrspace(10), i64 }>, align 8
define ptr addrspace(10) @stored(ptr addrspace(10) %o) {
  %v = alloca [3 x i64]
  %p = getelementptr i8, ptr %v, i64 8
  store i64 7, ptr %v
  store ptr addrspace(10) %o, ptr %p
  call void @native()
  %r = load ptr addrspace(10), ptr %p
  ret ptr addrspace(10) %r
}

; LLVM counts in bytes where an address was chosen: the possible numbers say of which words.
; CHECK-LABEL: define ptr addrspace(10) @chosen_by_bytes(
; CHECK: %v = alloca <{ ptr addrspace(10), i64, ptr addrspace(10), i64 }>
define ptr addrspace(10) @chosen_by_bytes(ptr addrspace(10) %o, i1 %c, i64 %n) {
  %v = alloca [4 x i64]
  %number = getelementptr i8, ptr %v, i64 8
  store i64 %n, ptr %number
  %offset = select i1 %c, i64 0, i64 16
  %p = getelementptr i8, ptr %v, i64 %offset
  store ptr addrspace(10) %o, ptr %p
  call void @native()
  %r = load ptr addrspace(10), ptr %p
  ret ptr addrspace(10) %r
}

; The rest of the bytes stays, and so does the size; references are aligned.
; CHECK-LABEL: define void @bytes(
; CHECK-NEXT: %v = alloca <{ ptr addrspace(10), i64, [3 x i8] }>, align 8
; CHECK-NEXT: %w = alloca ptr addrspace(10), align 16
define void @bytes(ptr addrspace(10) %o) {
  %v = alloca [19 x i8], align 1
  %w = alloca i64, align 16
  store ptr addrspace(10) %o, ptr %v
  store ptr addrspace(10) %o, ptr %w
  ret void
}

; A variable whose type says the same keeps it; so do those without references.
; CHECK-LABEL: define void @declared(
; CHECK-NEXT: %v = alloca { ptr addrspace(10), i64 }
; CHECK-NEXT: %w = alloca [2 x i64]
; CHECK-NEXT: %x = alloca [4 x i32]
define void @declared(ptr addrspace(10) %o) {
  %v = alloca { ptr addrspace(10), i64 }
  %w = alloca [2 x i64]
  %x = alloca [4 x i32]
  store ptr addrspace(10) %o, ptr %v
  store i64 1, ptr %w
  call void @fill(ptr %x)
  ret void
}

; Results, and other memory that a call describes.
; CHECK-LABEL: define void @described(
; CHECK-NEXT: %v = alloca <{ ptr addrspace(10), i64, ptr addrspace(10) }>
; CHECK-NEXT: %w = alloca <{ [2 x i64], ptr addrspace(10), i64 }>
define void @described() {
  %v = alloca [24 x i8]
  %w = alloca [4 x i64]
  call void @make(ptr sret({ ptr addrspace(10), i64, ptr addrspace(10) }) %v)
  %p = getelementptr i8, ptr %w, i64 8
  call void @look(ptr byref({ i64, ptr addrspace(10) }) %p)
  ret void
}

; Copies of bytes, in either direction; from objects the uses tell.
; CHECK-LABEL: define ptr addrspace(10) @copied(
; CHECK-NEXT: %v = alloca { ptr addrspace(10), i64 }
; CHECK-NEXT: %w = alloca <{ i64, ptr addrspace(10), i64 }>
; CHECK-NEXT: %x = alloca <{ ptr addrspace(10), i64 }>
; CHECK-NEXT: %y = alloca <{ ptr addrspace(10), i64 }>
define ptr addrspace(10) @copied(ptr addrspace(10) %o) {
  %v = alloca { ptr addrspace(10), i64 }
  %w = alloca [24 x i8]
  %x = alloca [2 x i64]
  %y = alloca [2 x i64]
  %p = getelementptr i8, ptr %w, i64 8
  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %v, i64 16, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %x, ptr %p, i64 12, i1 false)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  call void @llvm.memcpy.p0.p11.i64(ptr %y, ptr addrspace(11) %d, i64 16, i1 false)
  %r = load ptr addrspace(10), ptr %y
  ret ptr addrspace(10) %r
}

; References that are copied as numbers are references: over a safepoint as well.
; CHECK-LABEL: define void @words(
; CHECK: %v = alloca { ptr addrspace(10), i64, i64 }
; CHECK: %w = alloca <{ ptr addrspace(10), [2 x i64] }>
; CHECK: [[A:%.*]] = load ptr addrspace(10), ptr %v, align 8
; CHECK: [[B:%.*]] = load i64, ptr {{.*}}, align 8
; CHECK: [[C:%.*]] = load i32, ptr {{.*}}, align 8
; CHECK: call void @native()
; CHECK: store ptr addrspace(10) [[A]], ptr %w, align 8
; CHECK: store i64 [[B]],
; CHECK: store i32 [[C]],
define void @words() {
  %v = alloca { ptr addrspace(10), i64, i64 }
  %w = alloca [3 x i64]
  call void @fill(ptr %v)
  %x = load i160, ptr %v, align 8
  call void @native()
  store i160 %x, ptr %w, align 8
  call void @fill(ptr %w)
  ret void
}

; Pointers that may lead to one or the other, and to objects.
; CHECK-LABEL: define void @chosen(
; CHECK-NEXT: %v = alloca ptr addrspace(10)
; CHECK-NEXT: %w = alloca <{ i64, ptr addrspace(10) }>
; CHECK-NEXT: %x = alloca ptr addrspace(10)
define void @chosen(ptr addrspace(10) %o, i1 %c) {
  %v = alloca i64
  %w = alloca [2 x i64]
  %x = alloca i64
  %p = getelementptr i8, ptr %w, i64 8
  br i1 %c, label %one, label %two
one:
  br label %two
two:
  %q = phi ptr [ %v, %0 ], [ %p, %one ]
  %r = select i1 %c, ptr %q, ptr %x
  %s = addrspacecast ptr %r to ptr addrspace(11)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %t = select i1 %c, ptr addrspace(11) %s, ptr addrspace(11) %d
  store ptr addrspace(10) %o, ptr addrspace(11) %t
  ret void
}

; Variable offsets: where the type says nothing, all places that the stride allows; otherwise the type decides.
; CHECK-LABEL: define void @indexed(
; CHECK-NEXT: %v = alloca <{ i64, ptr addrspace(10), i64, ptr addrspace(10) }>
; CHECK-NEXT: %w = alloca { i64, [4 x ptr addrspace(10)] }
; CHECK-NEXT: %x = alloca [4 x ptr addrspace(10)]
; CHECK-NEXT: %y = alloca { ptr addrspace(10), [4 x i64] }
define void @indexed(ptr addrspace(10) %o, i64 %i) {
  %v = alloca [4 x i64]
  %w = alloca { i64, [4 x ptr addrspace(10)] }
  %x = alloca i64, i32 4
  %y = alloca { ptr addrspace(10), [4 x i64] }
  %a = getelementptr { i64, i64 }, ptr %v, i64 %i, i32 1
  store ptr addrspace(10) %o, ptr %a
  %b = getelementptr { i64, [4 x i64] }, ptr %w, i64 0, i32 1, i64 %i
  store ptr addrspace(10) %o, ptr %b
  %c = getelementptr i64, ptr %x, i64 %i
  store ptr addrspace(10) %o, ptr %c
  %d = getelementptr { i64, [4 x i64] }, ptr %y, i64 0, i32 1, i64 %i
  store i64 %i, ptr %d
  ret void
}

; Null, undefined values and zeroed bytes are no numbers.
; CHECK-LABEL: define void @zeroed(
; CHECK-NEXT: %v = alloca <{ ptr addrspace(10), i64 }>
define void @zeroed(ptr addrspace(10) %o) {
  %v = alloca [2 x i64]
  call void @llvm.memset.p0.i64(ptr %v, i8 0, i64 16, i1 false)
  store ptr addrspace(10) %o, ptr %v
  call void @native()
  store i64 0, ptr %v
  store i64 undef, ptr %v
  ret void
}

; Accesses in other functions of the module, and through pointers in memory, where they agree.
; CHECK-LABEL: define void @elsewhere(
; CHECK-NEXT: %v = alloca <{ i64, ptr addrspace(10) }>
; CHECK-NEXT: %w = alloca ptr addrspace(10)
; CHECK-NEXT: %at = alloca ptr
; CHECK-NEXT: %x = alloca [2 x i64]
define void @elsewhere(ptr addrspace(10) %o, i1 %c) {
  %v = alloca [2 x i64]
  %w = alloca i64
  %at = alloca ptr
  %x = alloca [2 x i64]
  call void @put(ptr %v, ptr addrspace(10) %o)
  store ptr %w, ptr %at
  %p = load ptr, ptr %at
  store ptr addrspace(10) %o, ptr %p
  call void @dispatch(ptr %x, ptr addrspace(10) %o, i1 %c)
  ret void
}
define internal void @put(ptr %v, ptr addrspace(10) %o) {
  %p = getelementptr i8, ptr %v, i64 8
  store ptr addrspace(10) %o, ptr %p
  ret void
}
define internal void @dispatch(ptr %v, ptr addrspace(10) %o, i1 %c) {
  br i1 %c, label %one, label %two
one:
  store ptr addrspace(10) %o, ptr %v
  ret void
two:
  store i64 1, ptr %v
  ret void
}

; Arguments that are passed by value in memory are copied before the first safepoint.
; CHECK-LABEL: define ptr addrspace(10) @taken(ptr byval(<{ i64, ptr addrspace(10), [3 x i8] }>) align 8 %v,
; CHECK-SAME: ptr byval({ ptr addrspace(10), i64 }) %w)
; COPIED-LABEL: define ptr addrspace(10) @taken(
; COPIED-NEXT: [[W:%.*]] = alloca { ptr addrspace(10), i64 }
; COPIED-NEXT: [[V:%.*]] = alloca <{ i64, ptr addrspace(10), [3 x i8] }>, align 8
; COPIED-DAG: call void @llvm.memcpy.p0.p0.i64(ptr align 8 [[V]], ptr align 8 %v, i64 19, i1 false)
; COPIED-DAG: call void @llvm.memcpy.p0.p0.i64(ptr align 8 [[W]], ptr align 1 %w, i64 16, i1 false)
; COPIED: call void @native()
define ptr addrspace(10) @taken(ptr byval([19 x i8]) align 8 %v, ptr byval({ ptr addrspace(10), i64 }) %w) {
  %p = getelementptr i8, ptr %v, i64 8
  call void @native()
  %r = load ptr addrspace(10), ptr %p
  ret ptr addrspace(10) %r
}

; What reaches no safepoint needs no copy.
; COPIED-LABEL: define ptr addrspace(10) @first(
; COPIED-NEXT: load ptr addrspace(10), ptr %v
define ptr addrspace(10) @first(ptr byval({ ptr addrspace(10), i64 }) %v) {
  %r = load ptr addrspace(10), ptr %v
  ret ptr addrspace(10) %r
}
