; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; simdloop, muladd and demote-float16.

; RUN: %tenon opt --passes=simdloop,muladd,demote-float16 --stats %s -o %t.ll 2>%t.stats
; RUN: FileCheck %s --check-prefix=STATS --input-file=%t.stats
; STATS: 3 reductions in any order
; STATS: 2 products fused with sums
; STATS: 4 operations demoted to float
; RUN: %tenon opt --passes='tenon<level=2;no_simdloop;no_muladd;no_demote_float16>' --stats %s 2>&1 >/dev/null | FileCheck %s --check-prefix=OFF
; OFF: {{^ *}}0 reductions in any order
; OFF: {{^ *}}0 products fused with sums
; OFF: {{^ *}}0 operations demoted to float
; RUN: %tenon opt --passes=simdloop %s -o - | FileCheck %s --check-prefix=SIMD --implicit-check-not=julia.simd --implicit-check-not=julia.ivdep --implicit-check-not=tenon.simd
; RUN: %tenon opt --passes=muladd %s -o - | FileCheck %s --check-prefix=FUSE
; RUN: %tenon opt --passes=demote-float16 %s -o - | FileCheck %s --check-prefix=HALF
; What the promises are for: a sum that LLVM may not reorder by itself becomes vector code.
; RUN: %tenon opt --passes='tenon<level=2>' %s -o - | FileCheck %s --check-prefix=VECTOR
; Each can be turned off.
; RUN: %tenon opt --passes='tenon<level=2;no_simdloop>' %s -o - | FileCheck %s --check-prefix=NO-SIMD --implicit-check-not='reassoc contract <'
; NO-SIMD: julia.simdloop
; RUN: %tenon opt --passes='tenon<level=2>' %s -o - | FileCheck %s --check-prefix=ALL
; RUN: %tenon opt --passes='tenon<level=2;no_muladd>' --remarks=%t.yaml %s -o - | FileCheck %s --check-prefix=ALL
; RUN: FileCheck %s --input-file=%t.yaml --check-prefix=UNFUSED --implicit-check-not="Pass: {{ *}}'muladd'"
; UNFUSED: 'demote-float16'
; RUN: %tenon opt --passes='tenon<level=2;no_demote_float16>' --remarks=%t.yaml %s -o - | FileCheck %s --check-prefix=ALL
; RUN: FileCheck %s --input-file=%t.yaml --check-prefix=UNDEMOTED --implicit-check-not="'demote-float16'"
; UNDEMOTED: 'muladd'
; ALL: @sum(

target triple = "x86_64-unknown-linux-gnu"

; ---- simdloop ----

; SIMD-LABEL: @sum(
; SIMD: load float, ptr %p, align 4{{$}}
; SIMD: fmul contract float
; SIMD: fadd reassoc contract float %s
; SIMD: br i1 %more, label %head, label %done, !llvm.loop [[SUM:![0-9]+]]
; VECTOR-LABEL: @sum(
; VECTOR: fadd reassoc contract <{{[0-9]+}} x float>
define float @sum(ptr %a, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %head ]
  %s = phi float [ 0.0, %entry ], [ %t, %head ]
  %p = getelementptr float, ptr %a, i64 %i
  %v = load float, ptr %p
  %q = fmul float %v, 3.0
  %t = fadd float %s, %q
  %next = add nuw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %head, label %done, !llvm.loop !0
done:
  ret float %t
}

; Subtraction from the sum is addition, from something else it is not; a second use in the loop, another operation, and a
; loop that promises nothing change nothing.
; SIMD-LABEL: @left(
; SIMD: fsub reassoc contract float %s, 1.0
; SIMD: fsub float 1.0{{.*}}, %u
; SIMD: fadd float %w, 2.0
; SIMD: fmul float %y, 2.0
; SIMD: fadd float %z, 1.0
define float @left(i64 %n, ptr %out) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %head ]
  %s = phi float [ 0.0, %entry ], [ %t, %head ]
  %u = phi float [ 0.0, %entry ], [ %v, %head ]
  %w = phi float [ 0.0, %entry ], [ %x, %head ]
  %y = phi float [ 1.0, %entry ], [ %z1, %head ]
  %t = fsub float %s, 1.0
  %v = fsub float 1.0, %u
  %x = fadd float %w, 2.0
  store float %x, ptr %out
  %z = fmul float %y, 2.0
  %z1 = fadd float %z, 1.0
  %next = add nuw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %head, label %done, !llvm.loop !2
done:
  ret float %t
}
; SIMD-LABEL: @silent(
; SIMD: fadd float %s, 1.0
; SIMD: !llvm.loop [[SILENT:![0-9]+]]
define float @silent(i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %head ]
  %s = phi float [ 0.0, %entry ], [ %t, %head ]
  %t = fadd float %s, 1.0
  %next = add nuw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %head, label %done, !llvm.loop !3
done:
  ret float %t
}

; What C compilers make of a * b + c, in a loop of several: a product and a sum. But not where the sum is one of the
; factors, or the operation is llvm.fma, which is not two.
; SIMD-LABEL: @products(
; SIMD: [[P:%[0-9a-z]+]] = fmul nsz contract float %v, 2.0
; SIMD: [[S:%[0-9a-z]+]] = fadd reassoc nsz contract float %s, [[P]]
; SIMD: [[Q:%[0-9a-z]+]] = fmul contract float %v, %v
; SIMD: %t = fadd reassoc contract float [[S]], [[Q]]
; SIMD: call float @llvm.fmuladd.f32(float %v, float %f, float 1.0
; SIMD: call float @llvm.fma.f32(float %v, float %v, float %g)
; SIMD: ret float
; VECTOR-LABEL: @products(
; VECTOR: fmul nsz contract <{{[0-9]+}} x float>
; VECTOR: fadd reassoc nsz contract <{{[0-9]+}} x float>
define float @products(ptr %a, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %head ]
  %s = phi float [ 0.0, %entry ], [ %t, %head ]
  %p = getelementptr float, ptr %a, i64 %i
  %v = load float, ptr %p
  %once = call nsz float @llvm.fmuladd.f32(float %v, float 2.0, float %s)
  %t = call float @llvm.fmuladd.f32(float %v, float %v, float %once)
  %next = add nuw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %head, label %others, !llvm.loop !6
others:
  br label %second
second:
  %k = phi i64 [ 0, %others ], [ %k1, %second ]
  %f = phi float [ 0.0, %others ], [ %f1, %second ]
  %g = phi float [ 0.0, %others ], [ %g1, %second ]
  %f1 = call float @llvm.fmuladd.f32(float %v, float %f, float 1.0)
  %g1 = call float @llvm.fma.f32(float %v, float %v, float %g)
  %k1 = add nuw i64 %k, 1
  %m = icmp ult i64 %k1, %n
  br i1 %m, label %second, label %done, !llvm.loop !7
done:
  %r = fadd float %f1, %g1
  %r1 = fadd float %r, %t
  ret float %r1
}
declare float @llvm.fmuladd.f32(float, float, float)
declare float @llvm.fma.f32(float, float, float)

; Accesses of a loop in a loop are independent in both.
; SIMD-LABEL: @independent(
; SIMD: store i32 0, ptr %p, align 4, !llvm.mem.parallel_loop_access [[BOTH:![0-9]+]]
; SIMD: !llvm.loop [[INNER:![0-9]+]]
; SIMD: !llvm.loop [[OUTER:![0-9]+]]
; SIMD-DAG: [[SUM]] = distinct !{[[SUM]], [[MUST:![0-9]+]]}
; SIMD-DAG: [[MUST]] = !{!"llvm.loop.mustprogress"}
; SIMD-DAG: [[SILENT]] = distinct !{[[SILENT]], [[MUST]]}
; SIMD-DAG: [[BOTH]] = !{[[OUTER]], [[INNER]]}
; SIMD-DAG: [[INNER]] = distinct !{[[INNER]]}
; SIMD-DAG: [[OUTER]] = distinct !{[[OUTER]]}
define void @independent(ptr %a, i64 %n) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i1, %latch ]
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j1, %inner ]
  %k = mul i64 %i, %j
  %p = getelementptr i32, ptr %a, i64 %k
  store i32 0, ptr %p
  %j1 = add nuw i64 %j, 1
  %jm = icmp ult i64 %j1, %n
  br i1 %jm, label %inner, label %latch, !llvm.loop !4
latch:
  %i1 = add nuw i64 %i, 1
  %im = icmp ult i64 %i1, %n
  br i1 %im, label %outer, label %done, !llvm.loop !5
done:
  ret void
}
!0 = distinct !{!0, !1, !"julia.simdloop"}
!1 = !{!"llvm.loop.mustprogress"}
!2 = distinct !{!2, !"tenon.simdloop"}
!3 = distinct !{!3, !1}
!6 = distinct !{!6, !"tenon.simdloop"}
!7 = distinct !{!7, !"tenon.simdloop"}
!4 = distinct !{!4, !"julia.ivdep"}
!5 = distinct !{!5, !"julia.ivdep"}

; ---- muladd ----

; FUSE-LABEL: @fused(
; FUSE: %m = fmul contract float %a, %b
; FUSE: fadd contract float %m, %c
; FUSE: %n = fmul contract float %a, %c
; FUSE: fsub contract float %b, %n
define float @fused(float %a, float %b, float %c) {
  %m = fmul float %a, %b
  %s = fadd contract float %m, %c
  %n = fmul float %a, %c
  %d = fsub contract float %b, %n
  %r = fadd float %s, %d
  ret float %r
}
; The sum says nothing; the product is used twice.
; FUSE-LABEL: @exact(
; FUSE: %m = fmul float %a, %b
; FUSE: %n = fmul float %a, %c
define float @exact(float %a, float %b, float %c) {
  %m = fmul float %a, %b
  %s = fadd float %m, %c
  %n = fmul float %a, %c
  %d = fsub contract float %b, %n
  %e = fadd float %n, %s
  %r = fadd float %d, %e
  ret float %r
}

; ---- demote-float16 ----

; HALF-LABEL: @half(
; HALF: [[A:%.*]] = fpext half %a to float
; HALF: [[B:%.*]] = fpext half %b to float
; HALF: [[S:%.*]] = fadd nnan float [[A]], [[B]]
; HALF: [[T:%.*]] = fptrunc float [[S]] to half
; HALF: fneg half
; HALF: fcmp ult float
; HALF: fmul fast half
; HALF: call half @llvm.sqrt.f16(half
define i1 @half(half %a, half %b, ptr %out) "target-features"="-avx512fp16" {
  %s = fadd nnan half %a, %b
  %n = fneg half %s
  %c = fcmp ult half %n, %b
  %f = fmul fast half %a, %b
  %q = call half @llvm.sqrt.f16(half %f)
  store half %q, ptr %out
  ret i1 %c
}
; HALF-LABEL: @vectors(
; HALF: fpext <4 x bfloat> %a to <4 x float>
; HALF: frem <4 x float>
; HALF: fptrunc <4 x float> %{{.*}} to <4 x bfloat>
define <4 x bfloat> @vectors(<4 x bfloat> %a, <4 x bfloat> %b) {
  %r = frem <4 x bfloat> %a, %b
  ret <4 x bfloat> %r
}
; HALF-LABEL: @native(
; HALF: fadd half %a, %b
define half @native(half %a, half %b) "target-features"="+avx512fp16" {
  %s = fadd half %a, %b
  ret half %s
}
; HALF-LABEL: @promised(
; HALF: fadd half %a, %b
define half @promised(half %a, half %b) "julia.hasfp16" {
  %s = fadd half %a, %b
  ret half %s
}
; HALF-LABEL: @denied(
; HALF: fadd float
define half @denied(half %a, half %b) "julia.hasfp16"="false" "target-features"="+avx512fp16" {
  %s = fadd half %a, %b
  ret half %s
}
declare half @llvm.sqrt.f16(half)
