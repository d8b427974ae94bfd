; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; The bytes of stack maps, as tenon_gc.h says, for frames that are known: slots are words from the frame pointer.

; RUN: %tenon compile -O2 --cpu x86-64 %s -o %t.o
; RUN: llvm-readelf -S -W %t.o | FileCheck %s --check-prefix=SECTIONS
; RUN: llvm-readelf -x tenon_maps %t.o | FileCheck %s
; RUN: %tenon compile -O2 --function-sections %s -o %t.many.o
; RUN: llvm-readelf -S -W %t.many.o | FileCheck %s --check-prefix=MANY
; RUN: %tenon compile -O2 --cpu x86-64 --emit llvm %s -o %t.ll
; RUN: %tenon compile -O2 --cpu x86-64 --passes= %t.ll -o %t.later.o && cmp %t.o %t.later.o
; RUN: not %tenon compile --passes=nothing %t.ll -o %t.later.o
; RUN: ld.lld -r %t.o -o %t.relocatable.o
; REQUIRES: x86

target triple = "x86_64-unknown-linux-gnu"

declare void @native()

; SECTIONS: .text PROGBITS
; SECTIONS: tenon_maps PROGBITS {{.*}} AL {{ *}}2 {{ *}}0 {{ *}}2
; SECTIONS: .relatenon_maps

; MANY-DAG: tenon_maps PROGBITS {{.*}} AL {{.*}}
; MANY-DAG: tenon_maps PROGBITS {{.*}} ALG {{.*}}

; The body: place of the function, filled in by the linker; 1 safepoint; return address, 1 base, 0 derived; slot -1.
; The entry: 1 safepoint, with the entry's flag and nothing alive.
; CHECK: 0x00000000 00000000 01000000 18000000 0100ffff
; CHECK: 0x00000010 00000000 01000000 45000080 0000
define i64 @one(ptr addrspace(10) %o) {
  call void @native()
  %v = load i64, ptr addrspace(10) %o
  ret i64 %v
}

$group = comdat any
define weak_odr i64 @group(ptr addrspace(10) %o) comdat {
  call void @native()
  %v = load i64, ptr addrspace(10) %o
  ret i64 %v
}
