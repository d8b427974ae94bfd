; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; No managed address space is left anywhere; what the program does stays the same, and other tools read it.

; RUN: %tenon opt --passes=remove-addrspaces,remove-ni %s -o %t.ll
; RUN: FileCheck %s --input-file=%t.ll --implicit-check-not='addrspace(1{{[0-3]}})' --implicit-check-not=ni:10
; RUN: %clang -O2 -w -x ir %t.ll -c -o %t.o

; CHECK: %node = type { i64, ptr, [2 x ptr] }
%node = type { i64, ptr addrspace(10), [2 x ptr addrspace(10)] }
%outer = type { %node, <2 x ptr addrspace(11)> }

; CHECK: @root = global %node { i64 1, ptr null, [2 x ptr] [ptr null, ptr @permanent] }
@root = global %node { i64 1, ptr addrspace(10) null, [2 x ptr addrspace(10)] [ptr addrspace(10) null, ptr addrspace(10) addrspacecast (ptr @permanent to ptr addrspace(10))] }
@permanent = global i64 0
@table = global ptr @f

; CHECK: declare void @takes(ptr sret(%node), ptr) #[[LEAF:[0-9]+]]
declare void @takes(ptr sret(%node), ptr addrspace(10)) "gc-leaf-function"

; CHECK: define ptr @f(ptr %o, <2 x ptr> %v) !dbg
; CHECK: %d = getelementptr %node, ptr %o, i32 0, i32 1
; CHECK: %l = load ptr, ptr %d, align 8, !tbaa
; CHECK: %m = alloca %outer
; CHECK: call void @llvm.memcpy.p0.p0.i64(ptr %d, ptr %o, i64 8, i1 false)
; CHECK: %p = phi ptr [ %l, %0 ]
; CHECK: icmp eq ptr %p, null
; CHECK: call void @takes(ptr sret(%node) %m, ptr %p)
; CHECK: ret ptr @permanent
define ptr addrspace(10) @f(ptr addrspace(10) %o, <2 x ptr addrspace(10)> %v) !dbg !3 {
  %i = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %w = addrspacecast <2 x ptr addrspace(10)> %v to <2 x ptr addrspace(11)>
  %d = getelementptr %node, ptr addrspace(11) %i, i32 0, i32 1
  %l = load ptr addrspace(10), ptr addrspace(11) %d, !tbaa !6
  %m = alloca %outer
  call void @llvm.memcpy.p11.p10.i64(ptr addrspace(11) %d, ptr addrspace(10) %o, i64 8, i1 false)
  br label %next
next:
  %p = phi ptr addrspace(10) [ %l, %0 ]
  %c = icmp eq ptr addrspace(10) %p, null
  call void @takes(ptr sret(%node) %m, ptr addrspace(10) %p)
  ret ptr addrspace(10) addrspacecast (ptr @permanent to ptr addrspace(10))
}
declare void @llvm.memcpy.p11.p10.i64(ptr addrspace(11), ptr addrspace(10), i64, i1)

; CHECK: attributes #[[LEAF]] = { "gc-leaf-function" }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "f.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "f", file: !1, unit: !0, type: !4)
!4 = !DISubroutineType(types: !5)
!5 = !{}
!6 = !{!7, !7, i64 0}
!7 = !{!"reference", !8}
!8 = !{!"root"}
