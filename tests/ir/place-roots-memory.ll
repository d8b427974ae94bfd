; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; References in stack memory, second returns, landing pads, and what is pinned.

; RUN: %tenon opt --passes=place-roots %s | FileCheck %s
; RUN: %tenon opt --passes=place-roots,finish,root-tables %s -o %t.ll && %tenon compile --passes= %t.ll -o %t.o
; RUN: %tenon opt --passes=place-roots,finish %s | FileCheck %s --check-prefix=FINISHED --implicit-check-not=julia

declare void @native()
declare void @takes(ptr addrspace(11))
declare void @compares(ptr addrspace(10), ptr addrspace(10))
declare i64 @out(ptr)
declare i32 @_setjmp(ptr) returns_twice
declare i32 @personality(...)
declare ptr @julia.pointer_from_objref(ptr addrspace(10))
declare ptr addrspace(13) @julia.gc_loaded(ptr addrspace(10), ptr)
declare token @llvm.julia.gc_preserve_begin(...)
declare void @llvm.julia.gc_preserve_end(token)

; Variables with references are null at first and named by every safepoint; others are not.
; CHECK-LABEL: define i64 @variables(
; CHECK: store ptr addrspace(10) null, ptr %one
; CHECK-NEXT: [[ONE:%.*]] = getelementptr i8, ptr %some, i64 8
; CHECK-NEXT: store ptr addrspace(10) null, ptr [[ONE]], align 8
; CHECK-NEXT: [[TWO:%.*]] = getelementptr i8, ptr %some, i64 16
; CHECK-NEXT: store ptr addrspace(10) null, ptr [[TWO]], align 8
; CHECK-NEXT: [[MANY:%.*]] = getelementptr i8, ptr %more, i64 104
; CHECK-NEXT: call void @llvm.memset.p0.i64(ptr align 8 [[MANY]], i8 0, i64 40, i1 false)
; CHECK-NOT: lifetime.start.p0(ptr %one)
; CHECK: @native, i32 0, i32 0) [ "gc-live"(ptr addrspace(10) %o, ptr %one, ptr %some, ptr %more) ]
; CHECK: @out, ptr %one, i32 0, i32 0) [ "gc-live"(ptr %one, ptr %some, ptr %more) ]
define i64 @variables(ptr addrspace(10) %o) gc "tenon" {
  %one = alloca ptr addrspace(10)
  %plain = alloca i64
  %some = alloca { i64, [2 x ptr addrspace(10)] }
  %more = alloca { [13 x i64], [5 x ptr addrspace(10)], i64 }
  call void @llvm.lifetime.start.p0(ptr %one)
  call void @native()
  store ptr addrspace(10) %o, ptr %one
  %v = call i64 @out(ptr %one)
  store i64 %v, ptr %plain
  ret i64 %v
}

; Wherever the variables of constant size are made, the first safepoint names them, and they are null before it.
; CHECK-LABEL: define i64 @late(
; CHECK-NEXT: %first = alloca ptr addrspace(10)
; CHECK-NEXT: %second = alloca { i64, ptr addrspace(10) }
; CHECK-NEXT: store ptr addrspace(10) null, ptr %first
; CHECK-NEXT: [[WORD:%.*]] = getelementptr i8, ptr %second, i64 8
; CHECK-NEXT: store ptr addrspace(10) null, ptr [[WORD]], align 8
; CHECK-NEXT: {{.*}}statepoint{{.*}} @native, i32 0, i32 0) [ "gc-live"(ptr addrspace(10) %o, ptr %first, ptr %second) ]
define i64 @late(ptr addrspace(10) %o, i1 %c) gc "tenon" {
  call void @native()
  %first = alloca ptr addrspace(10)
  store ptr addrspace(10) %o, ptr %first
  br i1 %c, label %more, label %done
more:
  %second = alloca { i64, ptr addrspace(10) }
  %v = call i64 @out(ptr %second)
  ret i64 %v
done:
  %w = call i64 @out(ptr %first)
  ret i64 %w
}

; A result that fills more than three registers comes through a variable; one of three does not.
; CHECK-LABEL: define i64 @results(
; CHECK-NEXT: %result = alloca [4 x ptr addrspace(10)]
; CHECK-NEXT: store ptr addrspace(10) null, ptr %result
; CHECK: [[FEW:%.*]] = call token {{.*}} @three, i32 0, i32 0) [ "gc-live"(ptr %result) ]
; CHECK-NEXT: call { ptr addrspace(10), ptr addrspace(10), i64 } @llvm.experimental.gc.result
; CHECK: call token {{.*}} @four, ptr sret([4 x ptr addrspace(10)]) %result, i32 0, i32 0) [ "gc-live"(ptr %result) ]
; CHECK-NEXT: [[MANY:%.*]] = load [4 x ptr addrspace(10)], ptr %result
; CHECK-NEXT: extractvalue [4 x ptr addrspace(10)] [[MANY]], 3
declare { ptr addrspace(10), ptr addrspace(10), i64 } @three()
declare [4 x ptr addrspace(10)] @four()
define i64 @results() gc "tenon" {
  %few = call { ptr addrspace(10), ptr addrspace(10), i64 } @three()
  %many = call [4 x ptr addrspace(10)] @four()
  %o = extractvalue [4 x ptr addrspace(10)] %many, 3
  %v = load i64, ptr addrspace(10) %o
  ret i64 %v
}

; What lives behind the second return is reloaded, derived pointers by their distance.
; CHECK-LABEL: define i64 @twice(
; CHECK-DAG: %root = alloca ptr addrspace(10)
; CHECK-DAG: %distance = alloca i64
; CHECK: store ptr addrspace(10) %o, ptr %root
; CHECK: @_setjmp, ptr %buffer, i32 0, i32 0) #{{[0-9]+}} [ "gc-live"(ptr %root) ]
; CHECK: load ptr addrspace(10), ptr %root
; CHECK: load i64, ptr %distance
define i64 @twice(ptr addrspace(10) %o, i64 %n) gc "tenon" {
  %buffer = alloca [32 x i64], align 16
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %p = getelementptr i8, ptr addrspace(11) %d, i64 %n
  %r = call i32 @_setjmp(ptr %buffer)
  %v = load i64, ptr addrspace(11) %p
  ret i64 %v
}

; A phi of derived pointers and that of their bases are stored at the same place: the reference first, then the distance from it.
; CHECK-LABEL: define i64 @twice_phi(
; CHECK: join:
; CHECK-NEXT: [[B:%.*]] = phi ptr addrspace(10)
; CHECK-NEXT: [[D:%.*]] = phi ptr addrspace(11)
; CHECK-NEXT: store ptr addrspace(10) [[B]], ptr [[ROOT:%root.*]]
; CHECK-NEXT: [[ROOTED:%.*]] = load ptr addrspace(10), ptr [[ROOT]]
; CHECK-NEXT: [[FROM:%.*]] = ptrtoint ptr addrspace(10) [[ROOTED]] to i64
; CHECK-NEXT: [[TO:%.*]] = ptrtoint ptr addrspace(11) [[D]] to i64
; CHECK-NEXT: [[BYTES:%.*]] = sub i64 [[TO]], [[FROM]]
; CHECK-NEXT: store i64 [[BYTES]], ptr %distance
define i64 @twice_phi(ptr addrspace(10) %a, ptr addrspace(10) %b, i64 %n, i1 %c) gc "tenon" {
  %buffer = alloca [32 x i64], align 16
  %da = addrspacecast ptr addrspace(10) %a to ptr addrspace(11)
  %db = addrspacecast ptr addrspace(10) %b to ptr addrspace(11)
  %q = getelementptr i8, ptr addrspace(11) %db, i64 %n
  br i1 %c, label %other, label %join
other:
  br label %join
join:
  %p = phi ptr addrspace(11) [ %da, %0 ], [ %q, %other ]
  %r = call i32 @_setjmp(ptr %buffer)
  %v = load i64, ptr addrspace(11) %p
  ret i64 %v
}

; The normal way relocates, the other reloads.
; CHECK-LABEL: define i64 @pad(
; CHECK: %root = alloca
; CHECK: store ptr addrspace(10) %b, ptr %root
; CHECK: [[T:%.*]] = invoke token {{.*}} [ "gc-live"(ptr addrspace(10) %a, ptr %root) ]
; CHECK: ok:
; CHECK-NEXT: [[A:%.*]] = call ptr addrspace(10) @llvm.experimental.gc.relocate.p10(token [[T]]
; CHECK-NEXT: load i64, ptr addrspace(10) [[A]]
; CHECK: caught:
; CHECK: landingpad
; CHECK: [[B:%.*]] = load ptr addrspace(10), ptr %root
; CHECK: load i64, ptr addrspace(10) [[B]]
define i64 @pad(ptr addrspace(10) %a, ptr addrspace(10) %b) gc "tenon" personality ptr @personality {
  invoke void @native() to label %ok unwind label %caught
ok:
  %v = load i64, ptr addrspace(10) %a
  ret i64 %v
caught:
  %l = landingpad { ptr, i32 } cleanup
  %w = load i64, ptr addrspace(10) %b
  ret i64 %w
}

; A phi of a landing pad is stored by those who come there.
; CHECK-LABEL: define i64 @pad_phi(
; CHECK: [[A:%.*]] = freeze ptr addrspace(10) %a
; CHECK: store ptr addrspace(10) [[A]], ptr %root
; CHECK: invoke token
; CHECK: [[B:%.*]] = freeze ptr addrspace(10) %b
; CHECK: store ptr addrspace(10) [[B]], ptr %root
; CHECK: invoke token
; CHECK: caught:
; CHECK-NOT: phi
; CHECK: load ptr addrspace(10), ptr %root
define i64 @pad_phi(ptr addrspace(10) %a, ptr addrspace(10) %b, i1 %c) gc "tenon" personality ptr @personality {
  br i1 %c, label %one, label %two
one:
  invoke void @native() to label %ok unwind label %caught
two:
  invoke void @native() to label %ok unwind label %caught
ok:
  ret i64 0
caught:
  %p = phi ptr addrspace(10) [ %a, %one ], [ %b, %two ]
  %l = landingpad { ptr, i32 } cleanup
  %w = load i64, ptr addrspace(10) %p
  ret i64 %w
}

; Phis of a landing pad that take each other's values: all are loaded before the first is stored.
; CHECK-LABEL: define void @pad_swap(
; CHECK: again:
; CHECK-NEXT: [[P:%.*]] = load ptr addrspace(10), ptr [[ROOT_Q:%.*]], align
; CHECK-NEXT: [[FP:%.*]] = freeze ptr addrspace(10) [[P]]
; CHECK-NEXT: [[Q:%.*]] = load ptr addrspace(10), ptr [[ROOT_P:%.*]], align
; CHECK-NEXT: [[FQ:%.*]] = freeze ptr addrspace(10) [[Q]]
; CHECK-NEXT: store ptr addrspace(10) [[FP]], ptr [[ROOT_P]]
; CHECK-NEXT: store ptr addrspace(10) [[FQ]], ptr [[ROOT_Q]]
; CHECK-NEXT: invoke token
define void @pad_swap(ptr addrspace(10) %a, ptr addrspace(10) %b) gc "tenon" personality ptr @personality {
  invoke void @native() to label %ok unwind label %caught
caught:
  %p = phi ptr addrspace(10) [ %a, %0 ], [ %q, %again ]
  %q = phi ptr addrspace(10) [ %b, %0 ], [ %p, %again ]
  %l = landingpad { ptr, i32 } catch ptr null
  call void @compares(ptr addrspace(10) %p, ptr addrspace(10) %q)
  br label %again
again:
  invoke void @native() to label %ok unwind label %caught
ok:
  ret void
}

; Preserved: live and pinned in the region, and not behind it.
; CHECK-LABEL: define i64 @preserved(
; CHECK: %pinned = alloca ptr addrspace(10), align 8, !tenon.pinned
; CHECK: store ptr addrspace(10) %o, ptr %pinned
; CHECK: @native, i32 0, i32 0) [ "gc-live"(ptr %pinned) ]
; CHECK: gc_preserve_end
; CHECK: @native, i32 0, i32 0){{$}}
; FINISHED-LABEL: define i64 @preserved(
; FINISHED: addrspacecast ptr addrspace(10) %o to ptr
define i64 @preserved(ptr addrspace(10) %o) gc "tenon" {
  %t = call token (...) @llvm.julia.gc_preserve_begin(ptr addrspace(10) %o)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(10) %o)
  call void @native()
  %v = load i64, ptr %raw
  call void @llvm.julia.gc_preserve_end(token %t)
  call void @native()
  ret i64 %v
}

; jl_roots, derived arguments and loaded pointers pin their objects at this call.
; CHECK-LABEL: define i64 @pinned_at(
; CHECK: store ptr addrspace(10) %o, ptr %pinned
; CHECK: @native, i32 0, i32 0) [ "gc-live"(ptr addrspace(10) %p, ptr %pinned) ]
; CHECK: [[P:%.*]] = call {{.*}}gc.relocate.p10
; CHECK: store ptr addrspace(10) [[P]], ptr %pinned
; CHECK: @takes, ptr addrspace(11) %d, i32 0, i32 0) [ "gc-live"(ptr %pinned) ]
; CHECK: store ptr addrspace(10) %q, ptr %pinned
; CHECK: @native, i32 0, i32 0) [ "gc-live"(ptr addrspace(10) %q, ptr %pinned) ]
; CHECK: load i64, ptr addrspace(13) %l
define i64 @pinned_at(ptr addrspace(10) %o, ptr addrspace(10) %p, ptr %memory) gc "tenon" {
  call void @native() [ "jl_roots"(ptr addrspace(10) %o) ]
  %d = addrspacecast ptr addrspace(10) %p to ptr addrspace(11)
  call void @takes(ptr addrspace(11) %d)
  %q = load ptr addrspace(10), ptr %memory
  %l = call ptr addrspace(13) @julia.gc_loaded(ptr addrspace(10) %q, ptr %memory)
  call void @native()
  %v = load i64, ptr addrspace(13) %l
  ret i64 %v
}

; LLVM aligns variables with vectors to more than frames are: they are aligned less, with all accesses.
; CHECK-LABEL: define ptr addrspace(10) @aligned(
; CHECK: %v = alloca <4 x ptr addrspace(10)>, align 16
; CHECK-NOT: align 32
; CHECK: ret
define ptr addrspace(10) @aligned(ptr addrspace(10) %o, i1 %c, i64 %n) gc "tenon" {
  %v = alloca <4 x ptr addrspace(10)>, align 32
  %w = alloca [4 x i64], align 32
  %all = insertelement <4 x ptr addrspace(10)> zeroinitializer, ptr addrspace(10) %o, i64 2
  store <4 x ptr addrspace(10)> %all, ptr %v, align 32
  call void @llvm.memset.p0.i64(ptr align 32 %w, i8 1, i64 32, i1 false)
  call void @native()
  %p = select i1 %c, ptr %v, ptr %w
  %q = getelementptr i64, ptr %p, i64 %n
  store i64 5, ptr %q, align 32
  %after = load <4 x ptr addrspace(10)>, ptr %v, align 32
  %r = extractelement <4 x ptr addrspace(10)> %after, i64 2
  ret ptr addrspace(10) %r
}

declare void @llvm.lifetime.start.p0(ptr)
