; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Accesses through pointers in 11 and 13 that can only lead to other memory than objects.

; RUN: %tenon opt --passes=propagate-addrspaces --stats %s -o %t.ll 2>%t.stats
; RUN: FileCheck %s --input-file=%t.ll
; RUN: FileCheck %s --check-prefix=STATS --input-file=%t.stats
; STATS: 9 accesses of no object
; RUN: %tenon opt --passes='tenon<level=2;no_propagate_addrspaces>' --stats %s 2>&1 >/dev/null | FileCheck %s --check-prefix=OFF
; RUN: %tenon opt --passes='tenon<level=1>' --stats %s 2>&1 >/dev/null | FileCheck %s --check-prefix=OFF
; OFF: {{^ *}}0 accesses of no object
; RUN: for level in 0 1 2 3; do %tenon compile -O$level %s -o %t.o; done

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"
@global = global i64 0

; Casts, steps and a choice, of which one may be null.
; CHECK-LABEL: define i64 @chosen(
; CHECK: [[P:%.*]] = select i1 %c, ptr %v, ptr null
; CHECK: [[Q:%.*]] = getelementptr i8, ptr [[P]], i64 8
; CHECK: store i64 %x, ptr [[Q]]
; CHECK: %r = load i64, ptr [[Q]]
define i64 @chosen(i1 %c, i64 %x) {
  %v = alloca [2 x i64]
  %d = addrspacecast ptr %v to ptr addrspace(11)
  %p = select i1 %c, ptr addrspace(11) %d, ptr addrspace(11) null
  %q = getelementptr i8, ptr addrspace(11) %p, i64 8
  store i64 %x, ptr addrspace(11) %q
  %r = load i64, ptr addrspace(11) %q
  ret i64 %r
}

; A cycle of phis; a constant; 13.
; CHECK-LABEL: define void @cycle(
; CHECK: loop:
; CHECK: [[P:%.*]] = phi ptr [ %v, %entry ], [ [[F:%.*]], %loop ]
; CHECK: [[Q:%.*]] = getelementptr inbounds i64, ptr [[P]], i64 1
; CHECK: [[F]] = freeze ptr [[Q]]
; CHECK: store i64 1, ptr [[P]]
; CHECK: atomicrmw add ptr @global, i64 1 seq_cst
; CHECK: cmpxchg ptr %raw, i64 0, i64 1
define void @cycle(i1 %c, ptr %raw) {
entry:
  %v = alloca [9 x i64]
  %d = addrspacecast ptr %v to ptr addrspace(11)
  %l = addrspacecast ptr %raw to ptr addrspace(13)
  br label %loop
loop:
  %p = phi ptr addrspace(11) [ %d, %entry ], [ %f, %loop ]
  %q = getelementptr inbounds i64, ptr addrspace(11) %p, i64 1
  %f = freeze ptr addrspace(11) %q
  store i64 1, ptr addrspace(11) %p
  %a = atomicrmw add ptr addrspace(11) addrspacecast (ptr @global to ptr addrspace(11)), i64 1 seq_cst
  %b = cmpxchg ptr addrspace(13) %l, i64 0, i64 1 seq_cst seq_cst
  br i1 %c, label %loop, label %done
done:
  ret void
}

; A reference in a variable.
; CHECK-LABEL: define ptr addrspace(10) @reference(
; CHECK: store ptr addrspace(10) %o, ptr %v
; CHECK: load ptr addrspace(10), ptr %v
define ptr addrspace(10) @reference(ptr addrspace(10) %o) {
  %v = alloca ptr addrspace(10)
  %d = addrspacecast ptr %v to ptr addrspace(11)
  store ptr addrspace(10) %o, ptr addrspace(11) %d
  %r = load ptr addrspace(10), ptr addrspace(11) %d
  ret ptr addrspace(10) %r
}

; One origin may be in an object: an argument, a reference, something loaded. Nothing changes.
; CHECK-LABEL: define void @stays(
; CHECK: store i64 1, ptr addrspace(11) %p
; CHECK: store i64 2, ptr addrspace(11) %q
; CHECK: store i64 3, ptr addrspace(13) %s
; CHECK: store i64 4, ptr addrspace(10) %u
define void @stays(i1 %c, ptr addrspace(10) %o, ptr addrspace(11) %a, ptr %raw) {
  %v = alloca [2 x i64]
  %d = addrspacecast ptr %v to ptr addrspace(11)
  %od = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %l = load ptr addrspace(13), ptr addrspace(10) %o
  %vl = addrspacecast ptr %v to ptr addrspace(13)
  %u = addrspacecast ptr %raw to ptr addrspace(10)
  %p = select i1 %c, ptr addrspace(11) %d, ptr addrspace(11) %od
  %q = select i1 %c, ptr addrspace(11) %a, ptr addrspace(11) %d
  %s = select i1 %c, ptr addrspace(13) %l, ptr addrspace(13) %vl
  store i64 1, ptr addrspace(11) %p
  store i64 2, ptr addrspace(11) %q
  store i64 3, ptr addrspace(13) %s
  store i64 4, ptr addrspace(10) %u
  ret void
}

; The same address is used for both: the access of the variable changes, the choice does not.
; CHECK-LABEL: define void @shared(
; CHECK: store i64 1, ptr %v
; CHECK: store i64 2, ptr addrspace(11) %p
; CHECK: store i64 3, ptr {{%[0-9]+|%v}}
define void @shared(i1 %c, ptr addrspace(10) %o) {
  %v = alloca [2 x i64]
  %d = addrspacecast ptr %v to ptr addrspace(11)
  %od = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %p = select i1 %c, ptr addrspace(11) %d, ptr addrspace(11) %od
  store i64 1, ptr addrspace(11) %d
  store i64 2, ptr addrspace(11) %p
  %g = getelementptr i8, ptr addrspace(11) %d, i64 8
  store i64 3, ptr addrspace(11) %g
  ret void
}
