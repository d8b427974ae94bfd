; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Calls with an array of arguments of small functions of the module become ordinary calls, and are inlined; and the type of an
; object is known behind a check.

; RUN: %tenon opt --passes=devirtualize --stats %s -o %t.ll 2>%t.stats
; RUN: FileCheck %s --input-file=%t.ll
; RUN: FileCheck %s --check-prefix=STATS --input-file=%t.stats
; STATS: 5 calls devirtualized
; RUN: %tenon opt --passes='tenon<level=2;no_lower_intrinsics>' %s -o %t.ll
; RUN: FileCheck %s --check-prefix=INLINED --input-file=%t.ll
; RUN: %tenon opt --passes='tenon<level=2;no_devirtualize>' --stats %s 2>&1 >/dev/null | FileCheck %s --check-prefix=OFF
; RUN: %tenon opt --passes='tenon<level=0>' --stats %s 2>&1 >/dev/null | FileCheck %s --check-prefix=OFF
; OFF: {{^ *}}0 calls devirtualized
; RUN: for level in 0 1 2 3; do %tenon compile -O$level %s -o %t.o; done

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"
declare ptr addrspace(10) @julia.call(ptr, ptr addrspace(10), ...)
declare ptr addrspace(10) @julia.call2(ptr, ptr addrspace(10), ptr addrspace(10), ...)
declare ptr addrspace(10) @julia.call3(ptr, ptr addrspace(11), ...)
declare ptr addrspace(10) @julia.typeof(ptr addrspace(10))
declare ptr addrspace(10) @elsewhere(ptr addrspace(10), ptr, i32)
declare void @native()
@T = external constant i64

define internal ptr addrspace(10) @second(ptr addrspace(10) %f, ptr %args, i32 %n) {
  %p = getelementptr ptr addrspace(10), ptr %args, i64 1
  %r = load ptr addrspace(10), ptr %p
  ret ptr addrspace(10) %r
}

define internal ptr addrspace(10) @extra(ptr addrspace(10) %f, ptr %args, i32 %n, ptr addrspace(10) %extra) {
  ret ptr addrspace(10) %extra
}

define internal ptr addrspace(10) @derived(ptr addrspace(11) %f, ptr %args, i32 %n) {
  %r = load ptr addrspace(10), ptr addrspace(11) %f
  ret ptr addrspace(10) %r
}

; CHECK-LABEL: define ptr addrspace(10) @known(
; CHECK: %arguments = alloca [2 x ptr addrspace(10)]
; CHECK: store ptr addrspace(10) %x, ptr %arguments
; CHECK: [[P:%.*]] = getelementptr i8, ptr %arguments, i64 8
; CHECK: store ptr addrspace(10) %y, ptr [[P]]
; CHECK: call ptr addrspace(10) @second(ptr addrspace(10) %f, ptr %arguments, i32 2)
; INLINED-LABEL: @known(
; INLINED-NOT: call
; INLINED: ret ptr addrspace(10) %y
define ptr addrspace(10) @known(ptr addrspace(10) %f, ptr addrspace(10) %x, ptr addrspace(10) %y) {
  %r = call ptr addrspace(10) (ptr, ptr addrspace(10), ...) @julia.call(ptr @second, ptr addrspace(10) %f, ptr addrspace(10) %x, ptr addrspace(10) %y)
  ret ptr addrspace(10) %r
}

; A pointer that LLVM finds out is known too.
; INLINED-LABEL: @found(
; INLINED-NOT: call
; INLINED: ret ptr addrspace(10) %y
define ptr addrspace(10) @found(ptr addrspace(10) %f, ptr addrspace(10) %x, ptr addrspace(10) %y) {
  %v = alloca ptr
  store ptr @second, ptr %v
  %g = load ptr, ptr %v
  %r = call ptr addrspace(10) (ptr, ptr addrspace(10), ...) @julia.call(ptr %g, ptr addrspace(10) %f, ptr addrspace(10) %x, ptr addrspace(10) %y)
  ret ptr addrspace(10) %r
}

; CHECK-LABEL: define ptr addrspace(10) @others(
; CHECK: call ptr addrspace(10) @extra(ptr addrspace(10) %f, ptr null, i32 0, ptr addrspace(10) %x)
; CHECK: call ptr addrspace(10) @derived(ptr addrspace(11) %d, ptr null, i32 0)
; INLINED-LABEL: @others(
; INLINED-NOT: call
; INLINED: ret ptr addrspace(10)
define ptr addrspace(10) @others(ptr addrspace(10) %f, ptr addrspace(10) %x) {
  %a = call ptr addrspace(10) (ptr, ptr addrspace(10), ptr addrspace(10), ...) @julia.call2(ptr @extra, ptr addrspace(10) %x, ptr addrspace(10) %f)
  %d = addrspacecast ptr addrspace(10) %a to ptr addrspace(11)
  %b = call ptr addrspace(10) (ptr, ptr addrspace(11), ...) @julia.call3(ptr @derived, ptr addrspace(11) %d)
  ret ptr addrspace(10) %b
}

define weak ptr addrspace(10) @replaceable(ptr addrspace(10) %f, ptr %args, i32 %n) {
  ret ptr addrspace(10) null
}
define internal ptr addrspace(10) @apart(ptr addrspace(10) %f, ptr %args, i32 %n) noinline {
  ret ptr addrspace(10) null
}
define internal ptr addrspace(10) @other_type(ptr addrspace(10) %f, ptr %args, i64 %n) {
  ret ptr addrspace(10) null
}

; CHECK-LABEL: define ptr addrspace(10) @stays(
; CHECK-COUNT-5: @julia.call(
; CHECK: ret
define ptr addrspace(10) @stays(ptr addrspace(10) %f, ptr %g) {
  %a = call ptr addrspace(10) (ptr, ptr addrspace(10), ...) @julia.call(ptr %g, ptr addrspace(10) %f)
  %b = call ptr addrspace(10) (ptr, ptr addrspace(10), ...) @julia.call(ptr @elsewhere, ptr addrspace(10) %f)
  %c = call ptr addrspace(10) (ptr, ptr addrspace(10), ...) @julia.call(ptr @replaceable, ptr addrspace(10) %f)
  %d = call ptr addrspace(10) (ptr, ptr addrspace(10), ...) @julia.call(ptr @apart, ptr addrspace(10) %f)
  %e = call ptr addrspace(10) (ptr, ptr addrspace(10), ...) @julia.call(ptr @other_type, ptr addrspace(10) %f)
  %h = call ptr addrspace(10) (ptr, ptr addrspace(10), ...) @julia.call(ptr @itself, ptr addrspace(10) %f)
  ret ptr addrspace(10) %a
}

; CHECK-LABEL: define ptr addrspace(10) @itself(
; CHECK: @julia.call(
define ptr addrspace(10) @itself(ptr addrspace(10) %f, ptr %args, i32 %n) {
  %r = call ptr addrspace(10) (ptr, ptr addrspace(10), ...) @julia.call(ptr @itself, ptr addrspace(10) %f)
  %s = call ptr addrspace(10) (ptr, ptr addrspace(10), ...) @julia.call(ptr @second, ptr addrspace(10) %f, ptr addrspace(10) %f, ptr addrspace(10) %r)
  ret ptr addrspace(10) %s
}

; ---- types ----

; Behind a check the type is known, also behind a safepoint; the second check is none.
; INLINED-LABEL: @checked(
; INLINED: call ptr addrspace(10) @julia.typeof(
; INLINED-NOT: @julia.typeof(
; INLINED: ret ptr addrspace(10)
define ptr addrspace(10) @checked(ptr addrspace(10) %o) {
  %t = call ptr addrspace(10) @julia.typeof(ptr addrspace(10) %o)
  %c = icmp eq ptr addrspace(10) %t, addrspacecast (ptr @T to ptr addrspace(10))
  br i1 %c, label %yes, label %no
yes:
  call void @native()
  %t2 = call ptr addrspace(10) @julia.typeof(ptr addrspace(10) %o)
  %c2 = icmp eq ptr addrspace(10) %t2, addrspacecast (ptr @T to ptr addrspace(10))
  br i1 %c2, label %known, label %no
known:
  ret ptr addrspace(10) %t2
no:
  ret ptr addrspace(10) null
}

; One that may not happen is not done before its check.
; INLINED-LABEL: @guarded(
; INLINED: icmp eq ptr addrspace(10) %o, null
; INLINED: br i1
; INLINED: @julia.typeof(
define ptr addrspace(10) @guarded(ptr addrspace(10) %o) {
entry:
  br label %loop
loop:
  %c = icmp eq ptr addrspace(10) %o, null
  br i1 %c, label %none, label %some
some:
  %t = call ptr addrspace(10) @julia.typeof(ptr addrspace(10) %o)
  call void @native()
  %d = icmp eq ptr addrspace(10) %t, null
  br i1 %d, label %loop, label %none
none:
  %r = phi ptr addrspace(10) [ null, %loop ], [ %t, %some ]
  ret ptr addrspace(10) %r
}
