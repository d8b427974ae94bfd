; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; IR that was optimised while references were integers to LLVM is refused, whichever tool did it. What clang makes without its passes is not, nor
; is what was optimised with the right data layout.

; RUN: rm -rf %t && split-file %s %t
; RUN: for o in 1 2 3 s z; do %clang -w -O$o -I%include -emit-llvm -c %t/pair.c -o %t/pair.bc && not %tenon compile %t/pair.bc -o %t/pair.o 2>>%t/err || exit 1; done
; RUN: FileCheck %s --input-file=%t/err --check-prefix=ALL
; RUN: for o in "-O0" "-O1 -Xclang -disable-llvm-passes" "-O3 -g -Xclang -disable-llvm-passes"; do %clang -w $o -I%include -emit-llvm -c %t/pair.c -o %t/pair.bc && %tenon compile %t/pair.bc -o %t/pair.o || exit 1; done

; ALL-COUNT-5: error: {{.*}}'copy': {{.*}}this was optimised by passes that may make integers of references: compile it with -Xclang -disable-llvm-passes, {{.*}} [optimized]

; Without those accesses, for example because of -fno-strict-aliasing, it is the function.
; RUN: %clang -w -O1 -I%include -fno-strict-aliasing -emit-llvm -c %t/pair.c -o - | not %tenon verify - 2>&1 | FileCheck %s --check-prefix=FUNCTION
; FUNCTION: error: 'copy': this was optimised {{.*}} [optimized]

; A part of clang's passes: the access says itself that it was one of a pointer.
; RUN: %clang -w -O1 -Xclang -disable-llvm-passes -I%include -emit-llvm -c %t/pair.c -o %t/pair.bc
; RUN: opt -passes=mem2reg,instcombine %t/pair.bc -o %t/part.bc
; RUN: not %tenon verify - <%t/part.bc 2>&1 | FileCheck %s --check-prefix=PART
; PART: error: in function 'copy': {{.*}} = load i64, ptr addrspace(10) {{.*}} [optimized]

; RUN: %tenon verify %t/good.ll
; RUN: not %tenon verify - <%t/local.ll 2>&1 | FileCheck %t/local.ll --implicit-check-not=error:
; RUN: not %tenon verify - <%t/static.ll 2>&1 | FileCheck %t/static.ll --implicit-check-not=error:
; RUN: not %tenon verify - <%t/tagged.ll 2>&1 | FileCheck %t/tagged.ll --implicit-check-not=error:

;--- pair.c
#include "tenon_managed.h"
struct inner { struct pair tn_ref *reference; };
struct pair { struct inner inner; long *address; long n; };
TN_TYPE(struct pair, inner.reference);
void copy(struct pair tn_ref *to, struct pair tn_ref *from) { to->inner = from->inner; to->address = from->address; }
struct pair tn_ref *make(long n) { struct pair tn_ref *p = tn_new(struct pair); p->n = n; return p; }

;--- good.ll
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"
target triple = "x86_64-pc-linux-gnu"
define i64 @known(ptr addrspace(10) %o) local_unnamed_addr {
  %n = load i64, ptr addrspace(10) %o
  ret i64 %n
}

;--- local.ll
; Code that has nothing to do with references may be optimised.
define i64 @number(ptr %p) local_unnamed_addr {
  %n = load i64, ptr %p, !tbaa !0
  ret i64 %n
}
; CHECK: error: 'reference': {{.*}} [optimized]
define i64 @reference(ptr addrspace(10) %o) local_unnamed_addr {
  ret i64 0
}
!0 = !{!1, !1, i64 0}
!1 = !{!"any pointer", !2, i64 0}
!2 = !{!"omnipotent char"}

;--- static.ll
define internal fastcc i64 @other(ptr addrspace(10) %o) {
  ret i64 0
}
; CHECK: error: 'reference': {{.*}} [optimized]
define internal fastcc i64 @reference(ptr addrspace(10) %o) unnamed_addr {
  %n = call fastcc i64 @other(ptr addrspace(10) %o)
  ret i64 %n
}
define i64 @uses(ptr addrspace(10) %o) {
  %n = call fastcc i64 @reference(ptr addrspace(10) %o)
  ret i64 %n
}

;--- tagged.ll
; CHECK: error: in function 'store': store i64 %n, {{.*}} [optimized]
define void @numbers(ptr addrspace(10) %o, i64 %n) {
  store i64 %n, ptr addrspace(10) %o, !tbaa !4
  store i64 0, ptr addrspace(10) %o, !tbaa !2
  %r = load ptr addrspace(10), ptr addrspace(10) %o, !tbaa !2
  store i64 %n, ptr addrspace(10) %o, !tbaa !6
  ret void
}
define void @store(ptr addrspace(10) %o, i64 %n) {
  store i64 %n, ptr addrspace(10) %o, !tbaa !2
  ret void
}
!0 = !{!"omnipotent char"}
!1 = !{!"any pointer", !0, i64 0}
!2 = !{!3, !3, i64 0}
!3 = !{!"p2 long", !1, i64 0}
!4 = !{!5, !5, i64 0}
!5 = !{!"p2long", !0, i64 0}
!6 = !{!7, !7, i64 0}
!7 = !{!"p x", !0, i64 0}
