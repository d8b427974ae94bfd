; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Instrumentation for sanitizers, by option and by attributes of functions. What it finds when it runs:
; tests/programs/sanitizers.sh

; RUN: rm -rf %t && %split-file %s %t && cd %t

; An option instruments every function that does not refuse it.
; RUN: for level in 0 1 2 3; do \
; RUN:   %tenon opt --passes="tenon<level=$level;sanitize_address>" plain.ll -o - | FileCheck --check-prefix=ADDRESS %s || exit 1; \
; RUN:   %tenon opt --passes="tenon<level=$level;sanitize_thread>" plain.ll -o - | FileCheck --check-prefix=THREAD %s || exit 1; \
; RUN:   %tenon opt --passes="tenon<level=$level;sanitize_memory>" plain.ll -o - | FileCheck --check-prefix=MEMORY %s || exit 1; \
; RUN: done
; ADDRESS: @table = {{.*}}global { [3 x i32], [20 x i8] }
; ADDRESS: @llvm.global_dtors = {{.*}}@asan.module_dtor
; ADDRESS: define i32 @get(
; ADDRESS: call void @__asan_report_load4(
; ADDRESS: define i32 @chosen(
; ADDRESS: call void @__asan_report_load4(
; ADDRESS: define i32 @refuses(
; ADDRESS-NOT: __asan
; ADDRESS: ret i32
; THREAD: define i32 @get(
; THREAD: call void @__tsan_read4(
; THREAD: define i32 @chosen(
; THREAD: call void @__tsan_read4(
; THREAD: define i32 @refuses(
; THREAD-NOT: __tsan_read4
; THREAD: ret i32
; MEMORY: define i32 @get(
; MEMORY: call void @__msan_warning
; MEMORY: store {{.*}}@__msan_retval_tls

; Without it, attributes say which; no_NAME: none.
; RUN: %tenon opt --passes='tenon<level=1>' plain.ll -o - | FileCheck --check-prefix=CHOSEN %s
; RUN: %tenon opt --passes='tenon<level=0>' plain.ll -o - | FileCheck --check-prefix=CHOSEN %s
; RUN: %tenon opt --passes='asan,tsan,msan' plain.ll -o - | FileCheck --check-prefix=CHOSEN %s
; CHOSEN: define i32 @get(
; CHOSEN-NOT: __asan
; CHOSEN: ret i32
; CHOSEN: define i32 @chosen(
; CHOSEN: call void @__asan_report_load4(
; CHOSEN-NOT: {{__tsan_|__msan_}}
; RUN: %tenon opt --passes='tenon<level=1;no_sanitize_address>' plain.ll -o - | FileCheck --check-prefix=OFF --implicit-check-not=__asan %s
; OFF: define i32 @chosen(

; What was instrumented is not instrumented again.
; RUN: %tenon opt --passes='tenon<level=1;sanitize_thread>' plain.ll -o once.ll
; RUN: %tenon opt --passes='tenon<level=0;sanitize_thread>' once.ll -o - | FileCheck --check-prefix=ONCE %s
; ONCE: define i32 @get(
; ONCE: call void @__tsan_read4(
; ONCE-NOT: call void @__tsan_read4(
; ONCE: ret i32

; Managed functions stay as they are, and calls of the runtime are no safepoints.
; RUN: for level in 0 2; do for sanitizer in address thread; do \
; RUN:   %tenon opt --passes="tenon<level=$level;sanitize_$sanitizer>" managed.ll -o - | FileCheck --check-prefix=MANAGED %s || exit 1; \
; RUN:   %tenon compile --passes="tenon<level=$level;sanitize_$sanitizer>" managed.ll -o managed.o || exit 1; \
; RUN: done; done
; MANAGED: define {{.*}}ptr addrspace(10) @keep.m(
; MANAGED: %slot = alloca ptr addrspace(10)
; MANAGED-NOT: {{__asan|__tsan}}
; MANAGED: ret ptr addrspace(10)
; MANAGED: define {{.*}}i64 @native
; MANAGED: call void @__{{asan_report_load8|tsan_read8}}(
; MANAGED: ret i64
; MANAGED: declare void @__{{asan_report_load8|tsan_read8}}({{.*}} [[LEAF:#[0-9]+]]
; MANAGED: attributes [[LEAF]] = { {{.*}}"gc-leaf-function"
; RUN: not %tenon opt --passes='tenon<level=1;sanitize_memory>' managed.ll 2>&1 | FileCheck --check-prefix=REFUSED %s
; REFUSED: managed.ll: error: sanitize_memory: the module has managed code, which cannot be instrumented

; RUN: not %tenon opt --passes='tenon<sanitize_address;sanitize_thread>' plain.ll 2>&1 | FileCheck --check-prefix=SEVERAL %s
; SEVERAL: a program has one sanitizer; the options of the pipeline name several

;--- plain.ll
@table = global [3 x i32] zeroinitializer
define i32 @get(ptr %p) {
  %v = load i32, ptr %p
  ret i32 %v
}
define i32 @chosen(ptr %p) sanitize_address {
  %v = load i32, ptr %p
  ret i32 %v
}
define i32 @refuses(ptr %p) disable_sanitizer_instrumentation {
  %v = load i32, ptr %p
  ret i32 %v
}

;--- managed.ll
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"
target triple = "x86_64-pc-linux-gnu"
declare void @take(ptr)
define ptr addrspace(10) @keep(ptr addrspace(10) %object, ptr %q) sanitize_address sanitize_thread {
  %slot = alloca ptr addrspace(10)
  store ptr addrspace(10) %object, ptr %slot
  call void @take(ptr %slot)
  %derived = addrspacecast ptr addrspace(10) %object to ptr addrspace(11)
  %value = load i64, ptr addrspace(11) %derived
  store i64 %value, ptr %q
  %result = load ptr addrspace(10), ptr %slot
  ret ptr addrspace(10) %result
}
define i64 @native(ptr %p) {
  %v = load i64, ptr %p
  ret i64 %v
}
