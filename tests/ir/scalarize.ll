; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Structs and vectors of references become scalars; nothing whole lives across a safepoint.

; RUN: %tenon opt --passes=scalarize %s | FileCheck %s
; RUN: %tenon opt --passes=scalarize,place-roots %s | FileCheck %s --check-prefix=PLACED
; Arguments are taken apart before the poll at the entry.
; RUN: %tenon opt --passes=scalarize,insert-polls,place-roots --polls=all %s >%t.polls.ll
; RUN: not %tenon opt --passes=place-roots %s 2>&1 | FileCheck %s --check-prefix=WHOLE
; The entries of versions are naked: their parameters stay whole.
; RUN: %tenon build --targets 'x86-64;x86-64-v3' -o %t.a %s
; RUN: not %tenon opt --passes=insert-barriers %s 2>&1 | FileCheck %s --check-prefix=SCATTER

; WHOLE: [not-scalar]
; SCATTER: references are stored into several objects at once [not-scalar]

declare void @native()
declare { ptr addrspace(10), ptr addrspace(11), i64 } @three()

; CHECK-LABEL: define i64 @vector(
; CHECK: [[V0:%.*]] = extractelement <2 x ptr addrspace(10)> %v, i32 0
; CHECK: [[V1:%.*]] = extractelement <2 x ptr addrspace(10)> %v, i32 1
; CHECK: [[D0:%.*]] = addrspacecast ptr addrspace(10) [[V0]] to ptr addrspace(11)
; CHECK: [[D1:%.*]] = addrspacecast ptr addrspace(10) [[V1]] to ptr addrspace(11)
; CHECK: [[G0:%.*]] = getelementptr i64, ptr addrspace(11) [[D0]], i64 %n
; CHECK: [[G1:%.*]] = getelementptr i64, ptr addrspace(11) [[D1]], i64 %n
; CHECK: a:
; CHECK: [[W0:%.*]] = select i1 %{{.*}}, ptr addrspace(10) %o, ptr addrspace(10) [[V0]]
; CHECK: [[W1:%.*]] = select i1 %{{.*}}, ptr addrspace(10) %o, ptr addrspace(10) [[V1]]
; CHECK: b:
; CHECK: phi ptr addrspace(11) [ [[G0]], %entry ]
; CHECK: [[P1:%.*]] = phi ptr addrspace(11) [ [[G1]], %entry ]
; CHECK: call void @native
; CHECK: load i64, ptr addrspace(11) [[P1]]
; CHECK: icmp eq <2 x ptr addrspace(11)>

; PLACED-LABEL: define i64 @vector(
; PLACED: %base{{.*}} = phi ptr addrspace(10)
; PLACED: "gc-live"(
; PLACED: gc.relocate.p11
define i64 @vector(<2 x ptr addrspace(10)> %v, i64 %n, i1 %c, ptr addrspace(10) %o) gc "tenon" {
entry:
  %d = addrspacecast <2 x ptr addrspace(10)> %v to <2 x ptr addrspace(11)>
  %g = getelementptr i64, <2 x ptr addrspace(11)> %d, i64 %n
  br i1 %c, label %a, label %b
a:
  %w = insertelement <2 x ptr addrspace(10)> %v, ptr addrspace(10) %o, i64 %n
  %wd = addrspacecast <2 x ptr addrspace(10)> %w to <2 x ptr addrspace(11)>
  br label %b
b:
  %p = phi <2 x ptr addrspace(11)> [ %g, %entry ], [ %wd, %a ]
  call void @native()
  %e = extractelement <2 x ptr addrspace(11)> %p, i64 1
  %x = load i64, ptr addrspace(11) %e
  %i = icmp eq <2 x ptr addrspace(11)> %p, %d
  %i0 = extractelement <2 x i1> %i, i32 0
  %z = zext i1 %i0 to i64
  %s = add i64 %x, %z
  ret i64 %s
}

; CHECK-LABEL: define <2 x ptr addrspace(10)> @shuffle(
; CHECK-DAG: [[A1:%.*]] = extractelement <2 x ptr addrspace(10)> %a, i32 1
; CHECK-DAG: [[B0:%.*]] = extractelement <2 x ptr addrspace(10)> %b, i32 0
; CHECK: call void @native
; CHECK: [[R:%.*]] = insertelement <2 x ptr addrspace(10)> poison, ptr addrspace(10) [[B0]], i32 0
; CHECK: [[S:%.*]] = insertelement <2 x ptr addrspace(10)> [[R]], ptr addrspace(10) [[A1]], i32 1
; CHECK: ret <2 x ptr addrspace(10)> [[S]]
define <2 x ptr addrspace(10)> @shuffle(<2 x ptr addrspace(10)> %a, <2 x ptr addrspace(10)> %b) gc "tenon" {
  %s = shufflevector <2 x ptr addrspace(10)> %a, <2 x ptr addrspace(10)> %b, <2 x i32> <i32 2, i32 1>
  call void @native()
  ret <2 x ptr addrspace(10)> %s
}

; A derived pointer in a returned struct belongs to the reference before it.
; CHECK-LABEL: define {{.*}} @struct(
; CHECK: call void @native
; CHECK: [[A:%.*]] = insertvalue { ptr addrspace(10), ptr addrspace(11), i64 } poison, ptr addrspace(10) %{{.*}}, 0
; CHECK: [[B:%.*]] = insertvalue { ptr addrspace(10), ptr addrspace(11), i64 } [[A]], ptr addrspace(11) %{{.*}}, 1
; CHECK: [[C:%.*]] = insertvalue { ptr addrspace(10), ptr addrspace(11), i64 } [[B]], i64 4, 2
; CHECK: ret { ptr addrspace(10), ptr addrspace(11), i64 } [[C]]

; PLACED-LABEL: define {{.*}} @struct(
; PLACED: [[R:%.*]] = call ptr addrspace(10) @llvm.experimental.gc.relocate.p10(token [[T:%.*]], i32 [[B:[0-9]]], i32 [[B]])
; PLACED: call ptr addrspace(11) @llvm.experimental.gc.relocate.p11(token [[T]], i32 [[B]], i32 {{[0-9]}})
define { ptr addrspace(10), ptr addrspace(11), i64 } @struct() gc "tenon" {
  %r = call { ptr addrspace(10), ptr addrspace(11), i64 } @three()
  %f = insertvalue { ptr addrspace(10), ptr addrspace(11), i64 } %r, i64 4, 2
  call void @native()
  ret { ptr addrspace(10), ptr addrspace(11), i64 } %f
}

; Stores to several objects become stores to one each: where the mask says so, or what it says when that is known.
; CHECK-LABEL: define void @scatter(
; CHECK: [[M0:%.*]] = extractelement <2 x i1> %m, i32 0
; CHECK: [[M1:%.*]] = extractelement <2 x i1> %m, i32 1
; CHECK: br i1 [[M0]], label %[[L0:.*]], label %[[R0:.*]]
; CHECK: [[L0]]:
; CHECK-NEXT: store ptr addrspace(10) [[V0:%.*]], ptr addrspace(11) [[A0:%.*]], align 8
; CHECK-NEXT: br label %[[R0]]
; CHECK: [[R0]]:
; CHECK-NEXT: br i1 [[M1]], label %[[L1:.*]], label %[[R1:.*]]
; CHECK: [[L1]]:
; CHECK-NEXT: store ptr addrspace(10) [[V1:%.*]], ptr addrspace(11) [[A1:%.*]], align 8
; CHECK: [[R1]]:
; CHECK-NEXT: store ptr addrspace(10) [[V1]], ptr addrspace(11) [[A1]], align 8
; CHECK-NOT: store
; CHECK: call void @llvm.masked.scatter.v2i64
; CHECK-NEXT: ret void
define void @scatter(<2 x ptr addrspace(10)> %v, <2 x ptr addrspace(10)> %o, <2 x i1> %m, <2 x i64> %n) gc "tenon" {
  %d = addrspacecast <2 x ptr addrspace(10)> %o to <2 x ptr addrspace(11)>
  %g = getelementptr i64, <2 x ptr addrspace(11)> %d, i64 1
  call void @llvm.masked.scatter.v2p10.v2p11(<2 x ptr addrspace(10)> %v, <2 x ptr addrspace(11)> align 8 %g, <2 x i1> %m)
  call void @llvm.masked.scatter.v2p10.v2p11(<2 x ptr addrspace(10)> %v, <2 x ptr addrspace(11)> align 8 %g, <2 x i1> <i1 false, i1 true>)
  call void @llvm.masked.scatter.v2i64.v2p11(<2 x i64> %n, <2 x ptr addrspace(11)> align 8 %g, <2 x i1> %m)
  ret void
}
