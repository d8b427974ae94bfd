; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; LLVM emits another call after a statepoint that returns a value in an x87 register: a function of ours stores it.

; RUN: %tenon opt --passes=manage-functions,transitions,place-roots %s | FileCheck %s
; RUN: sed 's/^;bad //' %s >%t.bad.ll && not %tenon opt --passes=manage-functions,transitions %t.bad.ll 2>&1 | FileCheck --check-prefix=BAD %s
; RUN: %tenon compile -O2 %s -o %t.o && llvm-objdump -d --no-show-raw-insn %t.o | FileCheck --check-prefix=CODE %s
; REQUIRES: x86

target triple = "x86_64-unknown-linux-gnu"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"

declare x86_fp80 @extended(i64)
declare {x86_fp80, x86_fp80} @complex(ptr byval(i64))
declare i32 @personality(...)

; CHECK-LABEL: define hidden double @scalar.m(
; CHECK: @tn__gc_call_outside, i32 4, i32 0, ptr nest @tn.extended_result, ptr @extended, i64 %n, ptr %result,
; CHECK: [[R:%.*]] = load x86_fp80, ptr %result
; CHECK: fptrunc x86_fp80 [[R]] to double
; CODE-LABEL: <scalar.m>:
; CODE: callq
; CODE-NOT: callq
; CODE: fldt
define double @scalar(i64 %n) gc "tenon" {
  %r = call x86_fp80 @extended(i64 %n)
  %d = fptrunc x86_fp80 %r to double
  ret double %d
}

; CHECK-LABEL: define hidden double @both.m(
; CHECK: invoke token {{.*}}@tn__gc_call_outside_memory, i32 4, i32 0, ptr nest @tn.extended_result{{.*}}, ptr @complex, ptr byval(i64) %p, ptr %result,
; CHECK: load { x86_fp80, x86_fp80 }, ptr %result
define double @both(ptr %p, i1 %c) gc "tenon" personality ptr @personality {
  br i1 %c, label %call, label %done
call:
  %r = invoke {x86_fp80, x86_fp80} @complex(ptr byval(i64) %p) to label %done unwind label %pad
done:
  %v = phi {x86_fp80, x86_fp80} [ zeroinitializer, %0 ], [ %r, %call ]
  %x = extractvalue {x86_fp80, x86_fp80} %v, 1
  %d = fptrunc x86_fp80 %x to double
  ret double %d
pad:
  %l = landingpad { ptr, i32 } cleanup
  ret double 0.0
}

; CHECK-LABEL: define internal void @tn.extended_result(ptr %0, i64 %1, ptr %2)
; CHECK: [[R:%.*]] = call x86_fp80 %0(i64 %1)
; CHECK: store x86_fp80 [[R]], ptr %2

; BAD: 'bad': a managed function returns no long double, nor on x86-64 a third float or double in registers; store it instead [extended-result]
;bad define x86_fp80 @bad(i64 %n) gc "tenon" {
;bad   %r = call x86_fp80 @extended(i64 %n)
;bad   ret x86_fp80 %r
;bad }

; A leaf that touches managed memory needs an entry too, which would return the same; where it needs none, nothing is refused.
; BAD: 'bad_leaf': a managed function returns no long double, nor on x86-64 a third float or double in registers; store it instead [extended-result]
; BAD-NOT: good_leaf
;bad define x86_fp80 @bad_leaf(ptr addrspace(10) %o) {
;bad   %v = load x86_fp80, ptr addrspace(10) %o
;bad   ret x86_fp80 %v
;bad }
;bad define internal x86_fp80 @good_leaf(ptr addrspace(10) %o) {
;bad   %v = load x86_fp80, ptr addrspace(10) %o
;bad   ret x86_fp80 %v
;bad }
