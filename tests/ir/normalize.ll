; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; What clang makes of C with pointers in address space 10 comes to keep the contract.

; RUN: rm -rf %t && split-file %s %t
; RUN: %tenon opt --passes=normalize,gc-verify-strong %t/good.ll | FileCheck %t/good.ll
; RUN: not %tenon opt --passes=normalize - <%t/bad.ll 2>&1 | FileCheck %t/bad.ll
; RUN: %clang -O1 -Xclang -disable-llvm-passes -emit-llvm -c %t/source.c -o %t/source.bc
; RUN: %tenon opt --passes=normalize,gc-verify-strong %t/source.bc | FileCheck %t/source.c
; RUN: %tenon opt --passes=normalize-clang,gc-verify-strong %t/source.bc | FileCheck %t/source.c
; RUN: %tenon opt --passes=normalize-clang %t/good.ll | FileCheck %s --check-prefix=LEFT
; LEFT: = alloca
; RUN: %clang -g -O1 -Xclang -disable-llvm-passes -emit-llvm -c %t/source.c -o %t/debug.bc
; RUN: env TENON_VERIFY_IR=1 %tenon compile -O0 %t/debug.bc -o %t/debug.o

;--- good.ll
; A variable becomes a value, a field's address a derived pointer, a choice of such as well.
; CHECK-LABEL: define i64 @fields(
; CHECK: [[D:%.*]] = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
; CHECK: %x = getelementptr inbounds { i64, i64 }, ptr addrspace(11) [[D]], i32 0, i32 1
; CHECK: [[E:%.*]] = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
; CHECK: %p = select i1 %c, ptr addrspace(11) %x, ptr addrspace(11) [[E]]
; CHECK: [[F:%.*]] = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
; CHECK: icmp eq ptr addrspace(11) %p, [[F]]
; CHECK: call void @llvm.memset.p11.i64(ptr addrspace(11) %p, i8 0, i64 8, i1 false)
; CHECK: load i64, ptr addrspace(11) %p
define i64 @fields(ptr addrspace(10) %o, i1 %c) {
  %v = alloca ptr addrspace(10)
  store ptr addrspace(10) %o, ptr %v
  %l = load ptr addrspace(10), ptr %v
  %x = getelementptr inbounds { i64, i64 }, ptr addrspace(10) %l, i32 0, i32 1
  %p = select i1 %c, ptr addrspace(10) %x, ptr addrspace(10) %l
  %same = icmp eq ptr addrspace(10) %p, %l
  call void @llvm.memset.p10.i64(ptr addrspace(10) %p, i8 0, i64 8, i1 false)
  %n = load i64, ptr addrspace(10) %p
  ret i64 %n
}

; In a loop.
; CHECK-LABEL: define void @walk(
; CHECK: phi ptr addrspace(11) [ %{{.*}}, %entry ], [ %next, %loop ]
define void @walk(ptr addrspace(10) %o, i1 %c) {
entry:
  br label %loop
loop:
  %p = phi ptr addrspace(10) [ %o, %entry ], [ %next, %loop ]
  store i64 0, ptr addrspace(10) %p
  %next = getelementptr i64, ptr addrspace(10) %p, i64 1
  br i1 %c, label %loop, label %done
done:
  ret void
}

; A copy of a variable of known type is one of its parts; others into managed memory are moves.
; CHECK-LABEL: define void @copies(
; CHECK: load i64, ptr %m
; CHECK: load ptr addrspace(10), ptr
; CHECK: store i64
; CHECK: store ptr addrspace(10)
; CHECK: call void (ptr addrspace(11), ...) @tenon.gc_move(ptr addrspace(11) %{{.*}}, ptr addrspace(11) %{{.*}}, i64 16)
; CHECK: call void @llvm.memcpy.p11.p0.i64(
define void @copies(ptr addrspace(10) %o, ptr addrspace(10) %p, ptr %from) {
  %m = alloca { i64, ptr addrspace(10) }
  call void @llvm.memcpy.p10.p0.i64(ptr addrspace(10) %o, ptr %m, i64 16, i1 false)
  call void @llvm.memcpy.p10.p10.i64(ptr addrspace(10) %o, ptr addrspace(10) %p, i64 16, i1 false)
  call void @llvm.memcpy.p10.p0.i64(ptr addrspace(10) %o, ptr %from, i64 4, i1 false)
  ret void
}

; Where the object's type is known, and lists no reference in these bytes, a copy is an ordinary one, from and to derived
; pointers, in which LLVM sees what it reads and writes. Its alignment and its metadata stay.
; CHECK-LABEL: define void @plain(
; CHECK: call void @llvm.memcpy.p11.p0.i64(ptr addrspace(11) align 8 %{{.*}}, ptr align 16 %from, i64 16, i1 false), !tbaa
; CHECK: call void @llvm.memmove.p0.p11.i64(ptr %from, ptr addrspace(11) %{{.*}}, i64 16, i1 false)
; CHECK: call void @llvm.memcpy.p11.p11.i64(
define void @plain(ptr %task, ptr %from, ptr addrspace(10) %other) {
  %v = alloca ptr addrspace(10)
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 24, ptr addrspace(10) addrspacecast (ptr @mixed to ptr addrspace(10)))
  store ptr addrspace(10) %o, ptr %v
  %l = load ptr addrspace(10), ptr %v
  call void @llvm.memcpy.p10.p0.i64(ptr addrspace(10) align 8 %l, ptr align 16 %from, i64 16, i1 false), !tbaa !0
  call void @llvm.memmove.p0.p10.i64(ptr %from, ptr addrspace(10) %l, i64 16, i1 false)
  %at = getelementptr i8, ptr addrspace(10) %l, i64 8
  call void @llvm.memcpy.p10.p10.i64(ptr addrspace(10) %at, ptr addrspace(10) %other, i64 8, i1 false)
  ret void
}

; The third word is a reference; as is, perhaps, one of those at a place that is not known, and behind a type that this
; module does not define.
; CHECK-LABEL: define void @not_plain(
; CHECK: @tenon.gc_move(ptr addrspace(11) %{{.*}}, ptr %from, i64 24)
; CHECK: @tenon.gc_move(ptr addrspace(11) %{{.*}}, ptr %from, i64 12)
; CHECK: @tenon.gc_move(ptr addrspace(11) %{{.*}}, ptr %from, i64 8)
; CHECK: @tenon.gc_move(ptr addrspace(11) %{{.*}}, ptr %from, i64 16)
; CHECK-NOT: llvm.memcpy
; CHECK: ret void
define void @not_plain(ptr %task, ptr %from, i64 %i) {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 24, ptr addrspace(10) addrspacecast (ptr @mixed to ptr addrspace(10)))
  call void @llvm.memcpy.p10.p0.i64(ptr addrspace(10) %o, ptr %from, i64 24, i1 false)
  %at = getelementptr i8, ptr addrspace(10) %o, i64 8
  call void @llvm.memcpy.p10.p0.i64(ptr addrspace(10) %at, ptr %from, i64 12, i1 false)
  %some = getelementptr i64, ptr addrspace(10) %o, i64 %i
  call void @llvm.memcpy.p10.p0.i64(ptr addrspace(10) %some, ptr %from, i64 8, i1 false)
  %x = call ptr addrspace(10) @julia.gc_alloc_obj(ptr %task, i64 24, ptr addrspace(10) addrspacecast (ptr @elsewhere to ptr addrspace(10)))
  call void @llvm.memcpy.p10.p0.i64(ptr addrspace(10) %x, ptr %from, i64 16, i1 false)
  ret void
}
@mixed = constant { ptr, i32, i32, i64, i64, i64, i64, ptr, i64, ptr, [8 x i8] } { ptr null, i32 1, i32 8, i64 24, i64 0, i64 0, i64 4, ptr null, i64 0, ptr null, [8 x i8] zeroinitializer }
@elsewhere = external constant i8
declare ptr addrspace(10) @julia.gc_alloc_obj(ptr, i64, ptr addrspace(10))
declare void @llvm.memmove.p0.p10.i64(ptr, ptr addrspace(10), i64, i1)

; Parts are aligned as the copy's operands are, not as their types want.
; CHECK-LABEL: define void @aligned(
; CHECK: load <4 x ptr addrspace(10)>, ptr %from, align 16
; CHECK: store <4 x ptr addrspace(10)> {{.*}}, ptr %to, align 8
define void @aligned() {
  %from = alloca <4 x ptr addrspace(10)>, align 16
  %to = alloca <4 x ptr addrspace(10)>, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %to, ptr align 16 %from, i64 32, i1 false)
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p10.i64(ptr addrspace(10), i8, i64, i1)
declare void @llvm.memcpy.p10.p0.i64(ptr addrspace(10), ptr, i64, i1)
declare void @llvm.memcpy.p10.p10.i64(ptr addrspace(10), ptr addrspace(10), i64, i1)
!0 = !{!1, !1, i64 0}
!1 = !{!"long", !2, i64 0}
!2 = !{!"root"}

;--- bad.ll
declare void @takes(ptr addrspace(10))
; CHECK: 'passed': call {{.*}} [interior]
define void @passed(ptr addrspace(10) %o) {
  %p = getelementptr i64, ptr addrspace(10) %o, i64 1
  call void @takes(ptr addrspace(10) %p)
  ret void
}
; CHECK: 'stored': store {{.*}} [interior]
define void @stored(ptr addrspace(10) %o) {
  %p = getelementptr i64, ptr addrspace(10) %o, i64 1
  store ptr addrspace(10) %p, ptr addrspace(10) %o
  ret void
}
; CHECK: 'returned': ret {{.*}} [interior]
define ptr addrspace(10) @returned(ptr addrspace(10) %o) {
  %p = getelementptr i64, ptr addrspace(10) %o, i64 1
  ret ptr addrspace(10) %p
}

;--- source.c
#define ref __attribute__((address_space(10)))
struct node { ref struct node *left, *right; };
struct pair { ref struct node *node; long n; };
struct pair global;
// CHECK-LABEL: define {{.*}} @insert(
// CHECK: phi ptr addrspace(11)
void insert(ref struct node *t, ref struct node *n, int c)
{
    ref struct node *ref *at = c ? &t->left : &t->right;
    while (*at)
        at = &(*at)->left;
    *at = n;
}
// CHECK-LABEL: define {{.*}} @keep(
// CHECK-NOT: memcpy
// CHECK: ret
void keep(ref struct node *n, ref struct pair *to)
{
    struct pair pair = {n, 1}, copy;
    copy = pair;
    global = copy;
    *to = copy;
}
