; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Leaves that touch managed memory: an entry and a body where other code than the module's managed functions may call them; the body
; has neither safepoints nor a stack map; the entry's call has one, which names it in reports.

; RUN: %tenon opt --passes=manage-functions,transitions,place-roots %s -o %t.ll && FileCheck %s --input-file=%t.ll
; RUN: sed 's/^;bad //' %s >%t.bad.ll && not %tenon opt --passes=manage-functions,transitions %t.bad.ll 2>&1 | FileCheck --check-prefix=BAD %s

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"

declare void @native()
declare void @elsewhere(i64) "gc-leaf-function"
declare i64 @callback(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

@root = global ptr addrspace(10) null
@pair = global [2 x ptr addrspace(10)] zeroinitializer
@numbers = global [2 x i64] zeroinitializer

; CHECK-DAG: @table = global [2 x ptr] [ptr @get, ptr @taken]
@table = global [2 x ptr] [ptr @get, ptr @taken]

; A leaf that touches nothing stays an ordinary function.
; CHECK-DAG: @pure.m = hidden alias i64 (i64), ptr @pure
; CHECK-DAG: @copies_numbers.m = hidden alias void (), ptr @copies_numbers
; CHECK-LABEL: define i64 @pure(i64 %n) #
define i64 @pure(i64 %n) {
  ret i64 %n
}

; The body is no managed function.
; CHECK-LABEL: define hidden i64 @get.m(ptr addrspace(10) %o)
; CHECK-NOT: gc "tenon"
; CHECK-SAME: {
define i64 @get(ptr addrspace(10) %o) {
  %v = load i64, ptr addrspace(10) %o
  ret i64 %v
}

; Values, operands and copies: a reference loaded from a root, null stored to one, roots copied and cleared as bytes.
; CHECK-LABEL: define hidden i1 @loads.m(
define i1 @loads() {
  %o = load ptr addrspace(10), ptr @root
  %is = icmp eq ptr addrspace(10) %o, null
  ret i1 %is
}
; CHECK-LABEL: define hidden void @clears.m(
define void @clears() {
  store ptr addrspace(10) null, ptr @root
  ret void
}
; CHECK-LABEL: define hidden void @copies.m(
define void @copies(ptr %to) {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr getelementptr (i8, ptr @pair, i64 8), i64 8, i1 false)
  ret void
}
; CHECK-LABEL: define hidden void @fills.m(
define void @fills() {
  call void @llvm.memset.p0.i64(ptr @pair, i8 0, i64 16, i1 false)
  ret void
}
; CHECK-LABEL: define void @copies_numbers(
define void @copies_numbers() {
  call void @llvm.memset.p0.i64(ptr @numbers, i8 0, i64 16, i1 false)
  ret void
}

; Through another leaf, whichever comes first.
; CHECK-LABEL: define hidden i1 @through.m(
; CHECK: call i1 @loads.m()
define i1 @through() {
  %a = call i1 @behind()
  %b = call i1 @loads()
  %c = xor i1 %a, %b
  ret i1 %c
}
; CHECK-LABEL: define hidden i1 @behind.m(
; CHECK: call i1 @loads.m()
define i1 @behind() {
  %a = call i1 @loads()
  ret i1 %a
}

; Only managed code of this module calls it, directly: no entry.
; CHECK-LABEL: define internal i64 @only_here(ptr addrspace(10) %o)
define internal i64 @only_here(ptr addrspace(10) %o) {
  %v = load i64, ptr addrspace(10) %o
  ret i64 %v
}

; Its address is taken: an entry.
; CHECK-LABEL: define internal i64 @taken.m(ptr addrspace(10) %o)
define internal i64 @taken(ptr addrspace(10) %o) {
  %v = load i64, ptr addrspace(10) %o
  ret i64 %v
}

; Marked by its author: an entry too, which others that know it as a leaf may call.
; CHECK-LABEL: define hidden i64 @marked.m(
define i64 @marked(ptr addrspace(10) %o) "gc-leaf-function" {
  call void @elsewhere(i64 1)
  %v = load i64, ptr addrspace(10) %o
  ret i64 %v
}

; The linker may choose another definition: calls go by the name.
; CHECK-LABEL: define weak hidden i64 @weak.m(ptr addrspace(10) %o)
define weak i64 @weak(ptr addrspace(10) %o) "gc-leaf-function" {
  %v = load i64, ptr addrspace(10) %o
  ret i64 %v
}

; A call that is marked may be one of a managed function: the caller needs a level.
; CHECK-LABEL: define hidden void @calls_managed.m(
; CHECK: call void @managed.m()
define void @calls_managed() {
  call void @managed() "gc-leaf-function"
  ret void
}
; CHECK-LABEL: define hidden void @managed.m(){{.*}} gc "tenon"
define void @managed() {
  call void @native()
  ret void
}

; Calls within the module are those of bodies, and no safepoints.
; CHECK-LABEL: define hidden i64 @caller.m(ptr addrspace(10) %o){{.*}} gc "tenon"
; CHECK: call i64 @get.m(ptr addrspace(10) %o)
; CHECK-NEXT: call i64 @only_here(ptr addrspace(10) %o)
; CHECK-NEXT: call i64 @marked.m(ptr addrspace(10) %o)
; CHECK-NEXT: call i64 @weak(ptr addrspace(10) %o)
; CHECK-NEXT: call i64 @pure(i64 1)
; CHECK: gc.statepoint{{.*}}ptr nest @callback, ptr @taken
define i64 @caller(ptr addrspace(10) %o) {
  %a = call i64 @get(ptr addrspace(10) %o)
  %b = call i64 @only_here(ptr addrspace(10) %o)
  %c = call i64 @marked(ptr addrspace(10) %o)
  %d = call i64 @weak(ptr addrspace(10) %o)
  %e = call i64 @pure(i64 1)
  %f = call i64 @callback(ptr @taken)
  ret i64 %f
}

; The entry makes a level unless the thread is in managed code already.
; CHECK-LABEL: define i64 @get(ptr addrspace(10) %0)
; CHECK: entry:
; CHECK: %top = load ptr, ptr %{{.*}}
; CHECK: [[SP:%.*]] = load i64, ptr %top
; CHECK: [[STATE:%.*]] = and i64 [[SP]], 1
; CHECK: [[OUTSIDE:%.*]] = icmp ne i64 [[STATE]], 0
; CHECK: br i1 [[OUTSIDE]], label %outside, label %go, !prof
; CHECK: slow:
; CHECK: call ptr @tn__gc_enter(
; CHECK: go:
; CHECK: phi ptr [ %top, %good ], [ %{{.*}}, %slow ], [ %top, %entry ]
; CHECK: gc.statepoint{{.*}}@get.m, i32 1, i32 0, ptr addrspace(10) %0, i32 0, i32 0)
; CHECK: store atomic ptr %level, ptr %{{.*}} release

; CHECK: define internal i64 @taken(ptr addrspace(10) %0)
; CHECK: define i64 @marked(ptr addrspace(10) %0) #[[MARKED:[0-9]+]]
; CHECK: attributes #[[MARKED]] = { {{.*}}"gc-leaf-function"

; What an entry cannot pass on.
; BAD-DAG: 'variable': a function that uses managed pointers, and that not only managed code of this module may call, has a fixed number of arguments [variable-arguments]
;bad define i64 @variable(ptr addrspace(10) %o, ...) {
;bad   ret i64 0
;bad }
; BAD-DAG: 'bare': a naked function that has managed pointers as arguments or result has no entry, so only managed code of this module may call it, by its name: make it static [naked]
;bad define i64 @bare(ptr addrspace(10) %o) naked {
;bad   call void asm sideeffect "ret", ""()
;bad   unreachable
;bad }
; BAD-DAG: 'passed': managed code passes no argument as inalloca, preallocated, swifterror or swiftasync [argument]
;bad define i64 @passed(ptr addrspace(10) %o, ptr swifterror %e) {
;bad   ret i64 0
;bad }
; BAD-NOT: error:
;bad define internal i64 @bare_here(ptr addrspace(10) %o) naked {
;bad   call void asm sideeffect "ret", ""()
;bad   unreachable
;bad }
;bad define internal i64 @variable_here(ptr addrspace(10) %o, ...) {
;bad   ret i64 0
;bad }
;bad define i64 @pure_variable(ptr %o, ...) {
;bad   ret i64 0
;bad }
;bad define i64 @caller_of_both(ptr addrspace(10) %o) {
;bad   %a = call i64 (ptr addrspace(10), ...) @variable_here(ptr addrspace(10) %o, i64 1)
;bad   %b = call i64 @bare_here(ptr addrspace(10) %o)
;bad   ret i64 %b
;bad }
