; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; REQUIRES: x86
;
; What a function has, and which targets want a version of it for that (doc/IMAGE.md): a row each.

; DEFINE: %{rows} = sed -n '/slot  *versions/,$p' | awk 'NR > 1 { print $2, $4 }' | sort -k 2
; RUN: %tenon build --targets 'x86-64;x86-64,popcnt' -o %t.a %s && %tenon inspect %t.a | %{rows} | FileCheck %s --check-prefix=POPCNT
; RUN: %tenon build --targets 'x86-64;x86-64-v3' -o %t.a %s && %tenon inspect %t.a | %{rows} | FileCheck %s --check-prefix=V3
; RUN: %tenon build --targets 'x86-64-v3;x86-64-v3,avx512fp16,avx512bf16' -o %t.a %s && %tenon inspect %t.a | %{rows} | FileCheck %s --check-prefix=FP16
; RUN: %tenon build --targets 'x86-64;x86-64-v3,clone_all;haswell,base(1),min_size' -o %t.a %s && %tenon inspect %t.a | %{rows} | FileCheck %s --check-prefix=BASE

; Decided before the module is divided: the same, and so are the calls, whatever lies together.
; RUN: %tenon build --targets 'x86-64;x86-64-v3' --shards 1 -o %t.1.a %s && %tenon inspect %t.1.a | %{rows} >%t.1
; RUN: %tenon build --targets 'x86-64;x86-64-v3' --shards 9 -o %t.9.a %s && %tenon inspect %t.9.a | %{rows} >%t.9
; RUN: llvm-ar t %t.9.a | grep -x 'text#8.o' && cmp %t.1 %t.9 && grep -x '0,1 loops' %t.9

; RUN: %tenon build -O0 --targets 'x86-64;x86-64-v3,clone_all;haswell,base(1),min_size' --emit=unopt-bc -o %t.bc.a %s
; RUN: llvm-ar p %t.bc.a 'text#0.bc' | llvm-dis | FileCheck %s --check-prefix=CALLS
; RUN: %tenon build -O1 --targets 'x86-64;x86-64-v3' --emit=bc -o %t.opt.a %s
; RUN: llvm-ar p %t.opt.a 'text#0.bc' | llvm-dis | FileCheck %s --check-prefix=ANSWERS

target triple = "x86_64-pc-linux-gnu"

; POPCNT: one bfloats
; V3: one bfloats
; FP16: 0,1 bfloats
; BASE: 0,1 bfloats
define bfloat @bfloats(bfloat %a) {
  ret bfloat %a
}

; No call between versions for one target leads over a slot; in what several targets share it does.
; BASE: 0,1 calls
; CALLS: define hidden double @calls.tn_image.0(
; CALLS: call double @fuses.tn_image.0(
; CALLS: define hidden double @calls.tn_image.1(
; CALLS: %[[SLOT:.*]] = load ptr, ptr {{.*}}tn_image.slots
; CALLS: call double %[[SLOT]](
; CALLS-NOT: @calls.tn_image.2
define double @calls(double %a) {
  %r = call double @loops(double %a)
  %f = call double @fuses(double %r)
  ret double %f
}

; POPCNT: one fuses
; V3: 0,1 fuses
; FP16: one fuses
; BASE: 0,1 fuses
define double @fuses(double %a) {
  %r = call double @llvm.fma.f64(double %a, double %a, double %a)
  ret double %r
}
declare double @llvm.fma.f64(double, double, double)

; POPCNT: one halves
; V3: one halves
; FP16: 0,1 halves
define half @halves(half %a) {
  %r = fadd half %a, %a
  ret half %r
}

; POPCNT: 0,1 knows
; V3: 0,1 knows
; FP16: 0,1 knows
; BASE: 0,1,2 knows
; Each version has its own answer.
; ANSWERS: define hidden {{.*}}i1 @knows.tn_image.0(
; ANSWERS: ret i1 false
; ANSWERS: define hidden {{.*}}i1 @knows.tn_image.1(
; ANSWERS: ret i1 true
define i1 @knows() {
  %r = call i1 @julia.cpu.have_fma.f64()
  %s = call i1 @tenon.cpu.have_fma.f32()
  %t = call i1 @tenon.cpu.have_fma.f16()
  %both = and i1 %r, %s
  %no = xor i1 %t, true
  %all = and i1 %both, %no
  ret i1 %all
}
declare i1 @julia.cpu.have_fma.f64()
declare i1 @tenon.cpu.have_fma.f32()
declare i1 @tenon.cpu.have_fma.f16()

; POPCNT: 0,1 loops
; V3: 0,1 loops
; BASE: 0,1,2 loops
; CALLS: define hidden double @loops.tn_image.2({{.*}} #[[SMALL:[0-9]+]]
define double @loops(double %a) {
entry:
  br label %again
again:
  %x = phi double [ %a, %entry ], [ %y, %again ]
  %y = call double @picked(double %x)
  %more = fcmp ogt double %y, 1.0
  br i1 %more, label %again, label %end
end:
  ret double %y
}

; Code that sees its own frame, that nobody is to change, or that runs before slots are filled has one version, though it loops.
; POPCNT: one naked
; V3: one naked
; BASE: one naked
define void @naked() naked {
entry:
  br label %again
again:
  call void asm sideeffect "nop", ""()
  br label %again
}

; POPCNT: one optnone
; V3: one optnone
; BASE: one optnone
define void @optnone(i1 %more) optnone noinline {
entry:
  br label %again
again:
  br i1 %more, label %again, label %end
end:
  ret void
}

; What a version calls gets none for that alone.
; V3: one picked
define double @picked(double %a) {
  %r = fdiv double %a, 2.0
  ret double %r
}

; POPCNT: one plain
; V3: one plain
; FP16: one plain
; BASE: 0,1 plain
define double @plain(double %a) {
  %r = fadd double %a, %a
  ret double %r
}

; POPCNT: one relaxed
; V3: 0,1 relaxed
; FP16: one relaxed
define double @relaxed(double %a) {
  %r = fadd reassoc double %a, %a
  ret double %r
}

; POPCNT: one resolver
; V3: one resolver
; BASE: one resolver
@resolved = ifunc void (), ptr @resolver
define ptr @resolver(i1 %more) {
entry:
  br label %again
again:
  br i1 %more, label %again, label %end
end:
  ret ptr @naked
}

; In the signature, or anywhere in the body.
; POPCNT: one stores
; V3: 0,1 stores
; FP16: 0,1 stores
define void @stores(ptr %p) {
  store <2 x double> zeroinitializer, ptr %p
  ret void
}

; POPCNT: one takes
; V3: 0,1 takes
; FP16: 0,1 takes
define void @takes(<4 x float> %a) {
  ret void
}

; CALLS: attributes #[[SMALL]] = { minsize optsize {{.*}}"target-cpu"="haswell"
