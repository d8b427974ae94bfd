; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; REQUIRES: x86, aarch64, riscv
;
; Which features of a target, beyond those of its base, make it worth versions of which functions: a row for each.

; DEFINE: %{arch} = unset
; DEFINE: %{base} = unset
; DEFINE: %{feature} = unset
; DEFINE: %{gain} = %tenon build --triple=%{arch}-linux-gnu --targets '%{base};%{base},%{feature}' -o %t.a %s && \
; DEFINE:   %tenon inspect %t.a | awk '$2 == "0,1" { print $4 }' | sort | xargs
; DEFINE: %{nothing} = grep -x ''
; REDEFINE: %{arch} = x86_64
; REDEFINE: %{base} = x86-64
; REDEFINE: %{feature} = popcnt
; RUN: %{gain} | %{nothing}
; REDEFINE: %{feature} = sse3
; RUN: %{gain} | grep -x vector
; REDEFINE: %{base} = x86-64,sse3
; REDEFINE: %{feature} = ssse3
; RUN: %{gain} | grep -x vector
; REDEFINE: %{base} = x86-64,sse4.2
; REDEFINE: %{feature} = avx
; RUN: %{gain} | grep -x vector
; REDEFINE: %{base} = x86-64,avx2
; REDEFINE: %{feature} = fma
; RUN: %{gain} | grep -x fused
; REDEFINE: %{base} = x86-64-v4
; REDEFINE: %{feature} = avx512fp16
; RUN: %{gain} | grep -x 'half vector'
; REDEFINE: %{feature} = avx512bf16
; RUN: %{gain} | grep -x 'brain vector'

; REDEFINE: %{arch} = aarch64
; REDEFINE: %{base} = generic
; REDEFINE: %{feature} = lse
; RUN: %{gain} | %{nothing}
; REDEFINE: %{feature} = dotprod
; RUN: %{gain} | grep -x vector
; REDEFINE: %{feature} = i8mm
; RUN: %{gain} | grep -x vector
; REDEFINE: %{feature} = fullfp16
; RUN: %{gain} | grep -x half
; REDEFINE: %{feature} = bf16
; RUN: %{gain} | grep -x brain
; REDEFINE: %{base} = generic,fullfp16
; REDEFINE: %{feature} = sve
; RUN: %{gain} | grep -x vector

; REDEFINE: %{arch} = riscv64
; REDEFINE: %{base} = generic
; REDEFINE: %{feature} = zba
; RUN: %{gain} | %{nothing}
; REDEFINE: %{feature} = v
; RUN: %{gain} | grep -x vector
; REDEFINE: %{feature} = zve64x
; RUN: %{gain} | grep -x vector
; REDEFINE: %{feature} = zfh
; RUN: %{gain} | grep -x half
; REDEFINE: %{feature} = zfbfmin
; RUN: %{gain} | grep -x brain

define bfloat @brain(bfloat %a) {
  ret bfloat %a
}

define double @fused(double %a) {
  %r = call double @llvm.fma.f64(double %a, double %a, double %a)
  ret double %r
}
declare double @llvm.fma.f64(double, double, double)

define half @half(half %a) {
  ret half %a
}

define double @plain(double %a) {
  ret double %a
}

define void @vector(ptr %p) {
  store <2 x double> zeroinitializer, ptr %p
  ret void
}
