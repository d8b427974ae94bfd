; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; References inside of structs, arrays and vectors: pinned where these are preserved, are "jl_roots", or hold addresses that a call gets.

; RUN: rm -rf %t && split-file %s %t
; RUN: %tenon opt --passes=gc-verify-strong,scalarize,place-roots %t/good.ll | FileCheck %t/good.ll
; RUN: %tenon compile -O0 %t/good.ll -o %t/good.o
; RUN: %tenon compile -O2 %t/good.ll -o %t/good.o
; RUN: not %tenon opt --passes=place-roots %t/whole.ll 2>&1 | FileCheck %t/whole.ll --implicit-check-not=error:
; RUN: not %tenon opt --passes=scalarize,place-roots %t/huge.ll 2>&1 | FileCheck %t/huge.ll --implicit-check-not=error:

;--- good.ll
declare void @native(...)
declare { ptr addrspace(10), i64, ptr addrspace(10) } @two()
declare token @llvm.julia.gc_preserve_begin(...)
declare void @llvm.julia.gc_preserve_end(token)

; A struct that is preserved: both of its references are pinned, and nothing else.
; CHECK-LABEL: define void @preserved(
; CHECK: store ptr addrspace(10) [[A:%.*]], ptr %pinned
; CHECK: store ptr addrspace(10) [[B:%.*]], ptr %pinned1
; CHECK: [[T:%.*]] = call token {{.*}}@native, i32 0, i32 0) [ "gc-live"({{.*}}ptr %pinned, ptr %pinned1) ]
; CHECK: gc_preserve_end
; CHECK: @native, i32 0, i32 0){{$}}
define void @preserved() gc "tenon" {
  %s = call { ptr addrspace(10), i64, ptr addrspace(10) } @two()
  %t = call token (...) @llvm.julia.gc_preserve_begin({ ptr addrspace(10), i64, ptr addrspace(10) } %s)
  call void (...) @native()
  call void @llvm.julia.gc_preserve_end(token %t)
  call void (...) @native()
  ret void
}

; The same during one call, of an array and a vector in a struct.
; CHECK-LABEL: define void @rooted(
; CHECK: store ptr addrspace(10) %{{.*}}, ptr %pinned
; CHECK: store ptr addrspace(10) %{{.*}}, ptr %pinned1
; CHECK: store ptr addrspace(10) %{{.*}}, ptr %pinned2
; CHECK: store ptr addrspace(10) %{{.*}}, ptr %pinned3
; CHECK-NOT: store
; CHECK: @native, i32 0, i32 0) [ "gc-live"({{.*}}ptr %pinned, ptr %pinned1, ptr %pinned2, ptr %pinned3) ]
define void @rooted({ [2 x ptr addrspace(10)], <2 x ptr addrspace(10)> } %s) gc "tenon" {
  call void (...) @native() [ "jl_roots"({ [2 x ptr addrspace(10)], <2 x ptr addrspace(10)> } %s) ]
  ret void
}

; Of derived pointers in a vector the objects are pinned. What names a permanent object needs no pin.
; CHECK-LABEL: define void @derived(
; CHECK: store ptr addrspace(10) %a, ptr %pinned
; CHECK-NOT: store
; CHECK: @native, i32 0, i32 0) [ "gc-live"(ptr %pinned) ]
define void @derived(ptr addrspace(10) %a) gc "tenon" {
  %d = addrspacecast ptr addrspace(10) %a to ptr addrspace(11)
  %p = getelementptr i8, ptr addrspace(11) %d, i64 8
  %v = insertelement <2 x ptr addrspace(11)> zeroinitializer, ptr addrspace(11) %p, i32 0
  call void (...) @native() [ "jl_roots"(<2 x ptr addrspace(11)> %v) ]
  ret void
}

; Derived pointers that are passed inside of a struct or vector are as good as others during the call.
; CHECK-LABEL: define void @passed(
; CHECK: store ptr addrspace(10) %a, ptr %pinned
; CHECK: store ptr addrspace(10) %b, ptr %pinned1
; CHECK: @native, {{.*}} [ "gc-live"(ptr %pinned, ptr %pinned1) ]
define void @passed(ptr addrspace(10) %a, ptr addrspace(10) %b) gc "tenon" {
  %d = addrspacecast ptr addrspace(10) %a to ptr addrspace(11)
  %e = addrspacecast ptr addrspace(10) %b to ptr addrspace(11)
  %v = insertelement <2 x ptr addrspace(11)> poison, ptr addrspace(11) %d, i32 0
  %w = insertelement <2 x ptr addrspace(11)> %v, ptr addrspace(11) %d, i32 1
  %s = insertvalue { i64, ptr addrspace(11) } { i64 1, ptr addrspace(11) null }, ptr addrspace(11) %e, 1
  call void (...) @native(<2 x ptr addrspace(11)> %w, { i64, ptr addrspace(11) } %s)
  ret void
}

; One part of a phi of structs.
; CHECK-LABEL: define void @either(
; CHECK: join:
; CHECK: [[P:%.*]] = phi ptr addrspace(10) [ %b, %0 ], [ %{{.*}}, %one ]
; CHECK: [[F:%.*]] = freeze ptr addrspace(10) [[P]]
; CHECK: store ptr addrspace(10) [[F]], ptr %pinned
define void @either(ptr addrspace(10) %b, i1 %c) gc "tenon" {
  %s0 = insertvalue { i64, ptr addrspace(10) } zeroinitializer, ptr addrspace(10) %b, 1
  br i1 %c, label %one, label %join
one:
  %two = call { ptr addrspace(10), i64, ptr addrspace(10) } @two()
  %a = extractvalue { ptr addrspace(10), i64, ptr addrspace(10) } %two, 2
  %s1 = insertvalue { i64, ptr addrspace(10) } zeroinitializer, ptr addrspace(10) %a, 1
  br label %join
join:
  %s = phi { i64, ptr addrspace(10) } [ %s0, %0 ], [ %s1, %one ]
  %f = freeze { i64, ptr addrspace(10) } %s
  %t = call token (...) @llvm.julia.gc_preserve_begin({ i64, ptr addrspace(10) } %f)
  call void (...) @native()
  call void @llvm.julia.gc_preserve_end(token %t)
  ret void
}

; The base of a derived pointer in a part of a returned struct is the last reference before it, in whatever part that is.
; CHECK-LABEL: define i64 @nested(
; CHECK: %base = extractvalue { { ptr addrspace(10), i64 }, [1 x { ptr addrspace(11), i64 }] } %{{.*}}, 0
; CHECK-NEXT: [[B:%.*]] = extractvalue { ptr addrspace(10), i64 } %base, 0
; CHECK: "gc-live"({{.*}}ptr addrspace(10) [[B]]
; CHECK: gc.relocate.p11(
declare { { ptr addrspace(10), i64 }, [1 x { ptr addrspace(11), i64 }] } @parts()
define i64 @nested() gc "tenon" {
  %s = call { { ptr addrspace(10), i64 }, [1 x { ptr addrspace(11), i64 }] } @parts()
  %p = extractvalue { { ptr addrspace(10), i64 }, [1 x { ptr addrspace(11), i64 }] } %s, 1, 0, 0
  call void (...) @native()
  %v = load i64, ptr addrspace(11) %p
  ret i64 %v
}

;--- whole.ll
; What was not taken apart cannot be pinned.
declare void @native(...)
; CHECK: error: in function 'whole': call {{.*}} [not-scalar]
define void @whole({ i64, ptr addrspace(10) } %s) gc "tenon" {
  call void (...) @native() [ "jl_roots"({ i64, ptr addrspace(10) } %s) ]
  ret void
}

;--- huge.ll
declare void @native(...)
declare token @llvm.julia.gc_preserve_begin(...)
declare void @llvm.julia.gc_preserve_end(token)
define void @large([1024 x ptr addrspace(10)] %s) gc "tenon" {
  call void (...) @native() [ "jl_roots"([1024 x ptr addrspace(10)] %s) ]
  ret void
}
; CHECK: error: in function 'larger': {{.*}}gc_preserve_begin{{.*}} [not-scalar]
define void @larger([1025 x ptr addrspace(10)] %s) gc "tenon" {
  %t = call token (...) @llvm.julia.gc_preserve_begin([1025 x ptr addrspace(10)] %s)
  call void (...) @native()
  call void @llvm.julia.gc_preserve_end(token %t)
  ret void
}
; CHECK: error: in function 'scalable': {{.*}}gc_preserve_begin{{.*}} [not-scalar]
define void @scalable(<vscale x 2 x ptr addrspace(10)> %s) gc "tenon" {
  %t = call token (...) @llvm.julia.gc_preserve_begin(<vscale x 2 x ptr addrspace(10)> %s)
  call void (...) @native()
  call void @llvm.julia.gc_preserve_end(token %t)
  ret void
}
