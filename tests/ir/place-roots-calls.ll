; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Which calls are transitions (doc/IR.md, "Transitions").

; RUN: %tenon opt --passes=scalarize,manage-functions,transitions,place-roots %s | FileCheck %s

target triple = "x86_64-unknown-linux-gnu"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"

%pair = type { ptr addrspace(10), i64 }
%plain = type { i64, i64, i64 }

declare void @wait(i32)
declare i64 @address(ptr)
declare ptr @where()
declare void @takes(ptr addrspace(10))
declare ptr addrspace(10) @gives()
declare void @derived(ptr addrspace(11))
declare i64 @elsewhere(i64) gc "tenon"
declare void @by_value(ptr byval(%plain))
declare void @many(i64, i64, i64, i64, i64, i64, i64, double)
declare void @wide(i128, i64, i64, i64, i64, <4 x float>)
declare void @marked() "gc-no-transition"
declare void @stops() noreturn
declare i32 @setjmp(ptr) returns_twice
declare void @longjmp(ptr, i32)
declare i32 @_Unwind_RaiseException(ptr)
declare i64 @strlen(ptr)
declare double @sin(double)
declare float @sinf(float)
declare i64 @strnlen(i64, i64) ; not as the C library has it
declare preserve_mostcc void @odd()
declare i64 @printf(ptr, ...)
declare ptr @julia.pointer_from_objref(ptr addrspace(11))
declare token @llvm.julia.gc_preserve_begin(...)
declare void @llvm.julia.gc_preserve_end(token)

define i64 @strcpy(ptr %to, ptr %from) gc "tenon" { ; its own
  call void @wait(i32 0)
  ret i64 0
}

; CHECK-LABEL: define hidden void @simple.m(
; CHECK: @tn__gc_call_outside, i32 2, i32 0, ptr nest @wait, i32 1,
; CHECK: @tn__gc_call_outside, i32 2, i32 0, ptr nest %f, i32 2,
; CHECK: @tn__gc_call_outside, i32 1, i32 0, ptr nest @where,
; CHECK: @tn__gc_call_outside, i32 4, i32 0, ptr nest @tn.variable_arguments, ptr @printf,
define void @simple(ptr %f) gc "tenon" {
  call void @wait(i32 1)
  call void %f(i32 2)
  call ptr @where()
  call i64 (ptr, ...) @printf(ptr null, i64 1)
  ret void
}

; CHECK-LABEL: define hidden void @references.m(
; CHECK: @tn__gc_call_native, i32 2, i32 0, ptr nest @takes,
; CHECK: @tn__gc_call_native, i32 1, i32 0, ptr nest @gives,
; CHECK: @tn__gc_call_native, i32 2, i32 0, ptr nest @derived,
; CHECK: @elsewhere.m, i32 1, i32 0, i64 1,
; CHECK: @tn__gc_call_outside, i32 2, i32 0, ptr nest @takes,
; CHECK: @strcpy.m,
define void @references(ptr addrspace(10) %o) gc "tenon" {
  call void @takes(ptr addrspace(10) %o)
  call ptr addrspace(10) @gives()
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  call void @derived(ptr addrspace(11) %d)
  call i64 @elsewhere(i64 1)
  call void @takes(ptr addrspace(10) %o) [ "gc-transition"() ]
  call i64 @strcpy(ptr null, ptr null)
  ret void
}

; Memory that holds references, passed as it is, by an address in it, and through variables.
; CHECK-LABEL: define hidden void @memory.m(
; CHECK: @tn__gc_call_native, i32 2, i32 0, ptr nest @address, ptr %pair,
; CHECK: @tn__gc_call_native, i32 2, i32 0, ptr nest @address, ptr %inside,
; CHECK: @tn__gc_call_native, i32 2, i32 0, ptr nest @address, ptr %loaded,
; CHECK: @tn__gc_call_native, i32 2, i32 0, ptr nest @address, ptr %chosen,
; CHECK: @tn__gc_call_native, i32 2, i32 0, ptr nest %g, i64 %number,
; CHECK: @tn__gc_call_outside, i32 2, i32 0, ptr nest @address, ptr %plain,
; CHECK: @tn__gc_call_outside, i32 2, i32 0, ptr nest @address, ptr %variable,
; CHECK: @tn__gc_call_native, i32 2, i32 0, ptr nest @wait_for, ptr sret(%pair) %unknown,
define void @memory(ptr %g, i1 %c, ptr %unknown) gc "tenon" {
  %pair = alloca %pair
  %plain = alloca %plain
  %variable = alloca ptr
  call i64 @address(ptr %pair)
  %inside = getelementptr i8, ptr %pair, i64 8
  call i64 @address(ptr %inside)
  store ptr %inside, ptr %variable
  %loaded = load ptr, ptr %variable
  call i64 @address(ptr %loaded)
  %chosen = select i1 %c, ptr %plain, ptr %pair
  call i64 @address(ptr %chosen)
  %number = ptrtoint ptr %pair to i64
  call void %g(i64 %number)
  call i64 @address(ptr %plain)
  call i64 @address(ptr %variable)
  call void @wait_for(ptr sret(%pair) %unknown)
  ret void
}
declare void @wait_for(ptr sret(%pair))

; A raw address may be passed while its object is pinned.
; CHECK-LABEL: define hidden void @raw.m(
; CHECK: @tn__gc_call_native, i32 2, i32 0, ptr nest @address,
; CHECK: @tn__gc_call_outside, i32 2, i32 0, ptr nest @address,
; CHECK: @tn__gc_call_native, i32 2, i32 0, ptr nest @address,
; CHECK: @tn__gc_call_outside, i32 2, i32 0, ptr nest @address,
define void @raw(ptr addrspace(10) %o, ptr addrspace(10) %other) gc "tenon" {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %p = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  call i64 @address(ptr %p)
  %t = call token (...) @llvm.julia.gc_preserve_begin(ptr addrspace(10) %o)
  call i64 @address(ptr %p)
  call void @llvm.julia.gc_preserve_end(token %t)
  %q = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  call i64 @address(ptr %q) [ "jl_roots"(ptr addrspace(10) %other) ]
  %r = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  call i64 @address(ptr %r) [ "jl_roots"(ptr addrspace(10) %o) ]
  ret void
}

; Arguments in memory are copied.
; CHECK-LABEL: define hidden void @copied.m(
; CHECK: store i64 24, ptr
; CHECK: @tn__gc_call_outside_memory, i32 2, i32 0, ptr nest @by_value, ptr byval(%plain) %p,
; CHECK: store i64 8, ptr
; CHECK: @tn__gc_call_outside_memory, i32 9, i32 0, ptr nest @many,
; CHECK: store i64 {{[0-9]+}}, ptr
; CHECK: @tn__gc_call_outside_memory, i32 7, i32 0, ptr nest @wide,
define void @copied(ptr %p) gc "tenon" {
  call void @by_value(ptr byval(%plain) %p)
  call void @many(i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, double 8.0)
  call void @wide(i128 1, i64 2, i64 3, i64 4, i64 5, <4 x float> zeroinitializer)
  ret void
}

; CHECK-LABEL: define hidden i32 @never.m(
; CHECK: @tn__gc_call_native, i32 1, i32 0, ptr nest @marked,
; CHECK: @tn__gc_call_native, i32 2, i32 0, ptr nest @wait, i32 1,
; CHECK: %r = call i32 @setjmp(ptr %p)
; CHECK: ptr elementtype(void ()) @tn__gc_return_twice, i32 0, i32 0, i32 0, i32 0)
; CHECK: @tn__gc_call_native, i32 3, i32 0, ptr nest @longjmp,
; CHECK: @tn__gc_call_native, i32 2, i32 0, ptr nest @_Unwind_RaiseException,
; CHECK: @tn__gc_call_native, i32 1, i32 0, ptr nest @odd,
; CHECK: @tn__gc_call_native, i32 1, i32 0, ptr nest @stops,
define i32 @never(ptr %p) gc "tenon" {
  call void @marked()
  call void @wait(i32 1) "gc-no-transition"
  %r = call i32 @setjmp(ptr %p)
  call void @longjmp(ptr %p, i32 1)
  call i32 @_Unwind_RaiseException(ptr %p)
  call preserve_mostcc void @odd()
  call void @stops()
  ret i32 %r
}

; What LLVM knows of the C library, with its prototype and unless it is told not to.
; CHECK-LABEL: define hidden void @library.m(
; CHECK: @tn__gc_call_native, i32 2, i32 0, ptr nest @strlen,
; CHECK: @tn__gc_call_native, i32 2, i32 0, ptr nest @sin,
; CHECK: @tn__gc_call_native, i32 2, i32 0, ptr nest @sinf,
; CHECK: @tn__gc_call_outside, i32 2, i32 0, ptr nest @strlen,
; CHECK: @tn__gc_call_outside, i32 3, i32 0, ptr nest @strnlen,
define void @library(ptr %p) gc "tenon" {
  call i64 @strlen(ptr %p)
  call double @sin(double 1.0)
  call float @sinf(float 1.0)
  call i64 @strlen(ptr %p) nobuiltin
  call i64 @strnlen(i64 1, i64 2)
  ret void
}

; CHECK-LABEL: define hidden void @freestanding.m(
; CHECK: @tn__gc_call_outside, i32 2, i32 0, ptr nest @strlen,
define void @freestanding(ptr %p) "no-builtins" gc "tenon" {
  call i64 @strlen(ptr %p)
  ret void
}

; CHECK-LABEL: define hidden void @without_sines.m(
; CHECK: @tn__gc_call_outside, i32 2, i32 0, ptr nest @sin,
; CHECK: @tn__gc_call_native, i32 2, i32 0, ptr nest @sinf,
define void @without_sines() "no-builtin-sin" gc "tenon" {
  call double @sin(double 1.0)
  call float @sinf(float 1.0)
  ret void
}
