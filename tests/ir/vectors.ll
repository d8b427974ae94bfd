; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Vectors and if-conversion: what LLVM's vectorisers make of references is scalars again at safepoints, and a load of an object is
; not done before the check that there is one.

; RUN: %tenon opt --passes='tenon<level=3;no_lower_intrinsics>' %s -o %t.before
; RUN: FileCheck %s --check-prefix=BEFORE --input-file=%t.before
; RUN: %tenon opt --passes='tenon<level=3>' %s -o %t.ll
; RUN: FileCheck %s --input-file=%t.ll --implicit-check-not='"gc-live"(<' --implicit-check-not='gc.relocate.v'
; RUN: for level in 0 1 2 3; do %tenon compile -O$level %s -o %t.o; done

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"
target triple = "x86_64-pc-linux-gnu"
declare void @native()
declare void @effect(i64) "gc-leaf-function"

; Two references side by side, before and after a safepoint: SLP makes one vector of them, which goes across the call. Root
; placement gets two references.
; BEFORE-LABEL: @across(
; BEFORE: load <2 x ptr addrspace(10)>
; BEFORE: call void @native()
; BEFORE: store <2 x ptr addrspace(10)>
; CHECK-LABEL: @across.m(
; CHECK: gc.statepoint{{.*}} @native, {{.*}}[ "gc-live"(ptr addrspace(10) %{{[^,]*}}, ptr addrspace(10) %{{[^,]*}}, ptr addrspace(10) %{{[^,)]*}}) ]
; CHECK: ret void
define void @across(ptr addrspace(10) %from, ptr addrspace(10) %to) "target-features"="+avx2" {
  %f = addrspacecast ptr addrspace(10) %from to ptr addrspace(11)
  %f1 = getelementptr inbounds i8, ptr addrspace(11) %f, i64 8
  %a = load ptr addrspace(10), ptr addrspace(11) %f
  %b = load ptr addrspace(10), ptr addrspace(11) %f1
  call void @native()
  %t = addrspacecast ptr addrspace(10) %to to ptr addrspace(11)
  %t1 = getelementptr inbounds i8, ptr addrspace(11) %t, i64 8
  store ptr addrspace(10) %a, ptr addrspace(11) %t
  store ptr addrspace(10) %b, ptr addrspace(11) %t1
  ret void
}

; A loop with a safepoint in each turn has no vectors of its references.
; CHECK-LABEL: @loop.m(
; CHECK-NOT: x ptr addrspace(10)>
; CHECK: ret void
define void @loop(ptr addrspace(10) %from, ptr addrspace(10) %to, i64 %n) "target-features"="+avx2" {
entry:
  %f = addrspacecast ptr addrspace(10) %from to ptr addrspace(11)
  %t = addrspacecast ptr addrspace(10) %to to ptr addrspace(11)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %p = getelementptr inbounds ptr addrspace(10), ptr addrspace(11) %f, i64 %i
  %q = getelementptr inbounds ptr addrspace(10), ptr addrspace(11) %t, i64 %i
  %x = load ptr addrspace(10), ptr addrspace(11) %p
  call void @native()
  store ptr addrspace(10) %x, ptr addrspace(11) %q
  %j = add nuw i64 %i, 1
  %c = icmp ult i64 %j, %n
  br i1 %c, label %loop, label %done
done:
  ret void
}

; Whether there is an object is asked before it is read, though both values might be chosen from.
; CHECK-LABEL: define hidden i64 @checked.m(
; CHECK: icmp eq ptr addrspace(10) %o, null
; CHECK: br i1
; CHECK: load i64, ptr addrspace(10) %o
; CHECK: ret i64
define i64 @checked(ptr addrspace(10) %o, i64 %other) {
entry:
  %c = icmp eq ptr addrspace(10) %o, null
  br i1 %c, label %join, label %some
some:
  %v = load i64, ptr addrspace(10) %o
  br label %join
join:
  %r = phi i64 [ %other, %entry ], [ %v, %some ]
  ret i64 %r
}

; The same in a loop, where the object does not change.
; CHECK-LABEL: define hidden void @in_loop.m(
; CHECK: icmp eq ptr addrspace(10) %o, null
; CHECK: br i1
; CHECK: load i64, ptr addrspace(10) %o
; CHECK: ret void
define void @in_loop(ptr addrspace(10) %o, i64 %n) {
entry:
  %c = icmp eq ptr addrspace(10) %o, null
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  br i1 %c, label %next, label %some
some:
  %v = load i64, ptr addrspace(10) %o
  call void @effect(i64 %v)
  br label %next
next:
  %j = add nuw i64 %i, 1
  %d = icmp ult i64 %j, %n
  br i1 %d, label %loop, label %done
done:
  ret void
}

; Each element of an array may be null: vector code asks for each before it reads it.
; BEFORE-LABEL: @each(
; BEFORE: [[OBJECTS:%.*]] = load <8 x ptr addrspace(10)>
; BEFORE: [[MASK:%.*]] = icmp ne <8 x ptr addrspace(10)> [[OBJECTS]], zeroinitializer
; BEFORE: call <8 x i64> @llvm.masked.gather.v8i64.v8p10(<8 x ptr addrspace(10)> align 8 [[OBJECTS]], <8 x i1> [[MASK]]
; CHECK-LABEL: define hidden i64 @each.m(
; CHECK: icmp eq {{.*}}null
; CHECK: ret i64
define i64 @each(ptr addrspace(10) %list, i64 %n) "target-features"="+avx2,+avx512f,+avx512vl" "prefer-vector-width"="512" {
entry:
  %f = addrspacecast ptr addrspace(10) %list to ptr addrspace(11)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  %s = phi i64 [ 0, %entry ], [ %t, %next ]
  %p = getelementptr inbounds ptr addrspace(10), ptr addrspace(11) %f, i64 %i
  %o = load ptr addrspace(10), ptr addrspace(11) %p
  %c = icmp eq ptr addrspace(10) %o, null
  br i1 %c, label %next, label %some
some:
  %v = load i64, ptr addrspace(10) %o
  br label %next
next:
  %w = phi i64 [ 0, %loop ], [ %v, %some ]
  %t = add i64 %s, %w
  %j = add nuw i64 %i, 1
  %d = icmp ult i64 %j, %n
  br i1 %d, label %loop, label %done
done:
  ret i64 %t
}
