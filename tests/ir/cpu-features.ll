; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; REQUIRES: x86, aarch64, riscv
;
; What code asks about the CPU that it is compiled for, at every level.

; RUN: %tenon compile -O0 --emit=llvm --triple=x86_64-linux-gnu --cpu=x86-64 %s -o - | FileCheck %s --check-prefixes=CHECK,NONE
; RUN: %tenon compile -O0 --emit=llvm --triple=x86_64-linux-gnu --cpu=haswell %s -o - | FileCheck %s --check-prefixes=CHECK,ALL
; RUN: %tenon compile -O2 --emit=llvm --triple=x86_64-linux-gnu --cpu=x86-64 --features=+fma4 %s -o - | FileCheck %s --check-prefixes=CHECK,ALL
; RUN: %tenon compile -O0 --emit=llvm --triple=aarch64-linux-gnu %s -o - | FileCheck %s --check-prefixes=CHECK,ALL
; RUN: %tenon compile -O0 --emit=llvm --triple=riscv64-linux-gnu --cpu=generic-rv64 --features=+f %s -o - | FileCheck %s --check-prefixes=CHECK,SINGLE
; RUN: %tenon compile -O0 --emit=llvm --triple=riscv64-linux-gnu --cpu=generic-rv64 --features=+f,+d %s -o - | FileCheck %s --check-prefixes=CHECK,ALL

; RUN: %tenon opt --passes=cpufeatures --triple=x86_64-linux-gnu --stats %s 2>&1 >/dev/null | FileCheck %s --check-prefix=STATS
; STATS: 3 tests of the CPU answered

; CHECK-LABEL: i1 @single()
; NONE: ret i1 false
; ALL: ret i1 true
; SINGLE: ret i1 true
define i1 @single() {
  %r = call i1 @julia.cpu.have_fma.f32()
  ret i1 %r
}

; CHECK-LABEL: i1 @double()
; NONE: ret i1 false
; ALL: ret i1 true
; SINGLE: ret i1 false
define i1 @double() personality ptr @personality {
  %r = invoke i1 @tenon.cpu.have_fma.f64() to label %good unwind label %bad
good:
  ret i1 %r
bad:
  %pad = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %pad
}

; CHECK-LABEL: i1 @other()
; CHECK: ret i1 false
define i1 @other() {
  %r = call i1 @tenon.cpu.have_fma.f80()
  ret i1 %r
}

; CHECK-NOT: have_fma
declare i1 @julia.cpu.have_fma.f32()
declare i1 @tenon.cpu.have_fma.f64()
declare i1 @tenon.cpu.have_fma.f80()
declare i32 @personality(...)
