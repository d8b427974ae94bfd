; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; REQUIRES: x86
;
; By which names functions of an image are known, and which of them may be looked up.

; DEFINE: %{rows} = sed -n '/slot  *versions/,$p' | awk 'NR > 1 { $3 = "size"; print }'
; RUN: %tenon build --targets 'x86-64;x86-64-v3,clone_all' -o %t.a %s
; RUN: %tenon inspect %t.a | %{rows} | FileCheck %s
; RUN: llvm-nm %t.a | FileCheck %s --check-prefix=SYMBOLS

target triple = "x86_64-pc-linux-gnu"

; In the order of the symbols, not of the IR's names.
;      CHECK: 0 0,1 size again{{$}}
; CHECK-NEXT: 1 0,1 size as_it_stands{{$}}
; CHECK-NEXT: 2 0,1 size hidden (local){{$}}
; CHECK-NEXT: 3 0,1 size jumping{{$}}
; CHECK-NEXT: 4 0,1 size odd $ name{{$}}
; CHECK-NEXT: 5 0,1 size protected{{$}}
; SYMBOLS-DAG: T as_it_stands.tn_image.1
; SYMBOLS-DAG: T odd $ name.tn_image.1
define void @"\01as_it_stands"() {
  ret void
}
; Labels that a function uses itself are those of each version, and its entry has none.
; RUN: %tenon build --targets 'x86-64;x86-64-v3,clone_all' --emit=unopt-bc -o %t.bc %s
; RUN: llvm-ar p %t.bc 'text#0.bc' | llvm-dis | FileCheck %s --check-prefix=LABELS
; LABELS-LABEL: define {{.*}}void @jumping.tn_image.0(
; LABELS: select i1 %way, ptr blockaddress(@jumping.tn_image.0, %left), ptr blockaddress(@jumping.tn_image.0, %right)
; LABELS-LABEL: define {{.*}}void @jumping.tn_image.1(
; LABELS: select i1 %way, ptr blockaddress(@jumping.tn_image.1, %left), ptr blockaddress(@jumping.tn_image.1, %right)
define void @jumping(i1 %way) {
  %to = select i1 %way, ptr blockaddress(@jumping, %left), ptr blockaddress(@jumping, %right)
  indirectbr ptr %to, [ label %left, label %right ]
left:
  ret void
right:
  ret void
}
define void @again() {
  ret void
}
define protected void @protected() {
  ret void
}
define hidden void @hidden() {
  ret void
}
define void @"odd $ name"() {
  ret void
}
