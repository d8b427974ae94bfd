; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; The same for AArch64, whose frame record lies above the variables: x29 is sp + 16 here, sp is not a part of what the map says.

; RUN: %tenon compile -O2 --cpu generic %s -o %t.o
; RUN: llvm-objdump -d --no-show-raw-insn --disassemble-symbols=one.m %t.o | FileCheck %s --check-prefix=CODE
; RUN: llvm-readelf -r %t.o | FileCheck %s --check-prefix=RELOCATIONS
; RUN: llvm-readelf -x tenon_maps %t.o | FileCheck %s
; RUN: %tenon compile -O0 --cpu generic %s -o %t.o
; RUN: llvm-readelf -S %t.o | FileCheck %s --check-prefix=SECTIONS
; RUN: sed 's/unknown-linux-gnu/apple-macosx/' %s >%t.macos.ll
; RUN: not %tenon compile --cpu generic %t.macos.ll -o %t.macos.o 2>&1 | FileCheck %s --check-prefix=MACOS
; MACOS: managed code is compiled for ELF only
; REQUIRES: aarch64

target triple = "aarch64-unknown-linux-gnu"

declare void @native()

; CODE: sub sp, sp, #0x20
; CODE: add x29, sp, #0x10
; CODE: stp x0, x8, [sp]
; CODE: bl
; CODE-NEXT: 20: {{.*}}ldr x8, [sp, #0x8]

; RELOCATIONS: R_AARCH64_PREL32

; 1 safepoint at 0x20, 1 base at -16, 1 derived at -8; and the entry's.
; CHECK: 0x00000000 00000000 01000000 20000000 0101feff
; CHECK: 0x00000010 ffff0000 00000000 01000000 {{..}}000080
; CHECK: 0x00000020 0000
; SECTIONS: tenon_maps
define i64 @one(ptr addrspace(10) %o, i64 %n) {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %p = getelementptr i8, ptr addrspace(11) %d, i64 %n
  call void @native()
  %v = load i64, ptr addrspace(11) %p
  ret i64 %v
}
