; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Allocations that follow each other are made by one bump; the slow side allocates one after the other, with all that the
; program does between them.

; RUN: %tenon opt --passes=lower-allocations --stats %s -o %t.ll 2>%t.stats
; RUN: FileCheck %s --input-file=%t.ll
; RUN: FileCheck %s --check-prefix=STATS --input-file=%t.stats
; STATS: 19 inline allocations
; STATS: 5 allocations merged with others
; RUN: %tenon opt --passes='tenon<level=1;no_merge_allocations>' --stats %s 2>&1 >/dev/null | FileCheck %s --check-prefix=OFF
; RUN: %tenon opt --passes='tenon<level=0>' --stats %s 2>&1 >/dev/null | FileCheck %s --check-prefix=OFF
; OFF: {{^ *}}0 allocations merged with others
; RUN: %tenon compile -O2 %s -o %t.o

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"
@t = external global i64
@u = external global i64
declare ptr addrspace(10) @julia.gc_alloc_obj(ptr, i64, ptr addrspace(10))
declare void @leaf() "gc-leaf-function"
declare void @native()

; 16 + 8 and 24 + 8 bytes; the first object has a number before there is a second one, on both sides.
; CHECK-LABEL: define ptr addrspace(10) @pair(
; CHECK: [[BUMP:%.*]] = load ptr, ptr %block
; CHECK: [[END:%.*]] = getelementptr i8, ptr [[BUMP]], i64 56
; CHECK: icmp ule ptr [[END]]
; CHECK: br i1 %{{.*}}, label %room, label %slow
; CHECK: room:
; CHECK: store ptr [[END]], ptr %block
; CHECK: store ptr @t, ptr [[BUMP]]
; CHECK: [[A:%.*]] = getelementptr i8, ptr [[BUMP]], i64 8
; CHECK: [[RA:%.*]] = addrspacecast ptr [[A]] to ptr addrspace(10)
; CHECK: store i64 %x, ptr addrspace(10) [[RA]]
; CHECK: [[HB:%.*]] = getelementptr i8, ptr [[BUMP]], i64 24
; CHECK: store ptr @u, ptr [[HB]]
; CHECK: [[B:%.*]] = getelementptr i8, ptr [[HB]], i64 8
; CHECK: [[RB:%.*]] = addrspacecast ptr [[B]] to ptr addrspace(10)
; CHECK: br label
; CHECK: slow:
; CHECK: [[SA:%.*]] = call ptr addrspace(10) @tn__gc_allocate(i64 16, ptr @t)
; CHECK: store i64 %x, ptr addrspace(10) [[SA]]
; CHECK: [[SB:%.*]] = call ptr addrspace(10) @tn__gc_allocate(i64 24, ptr @u)
; CHECK: br label
; CHECK: [[PB:%.*]] = phi ptr addrspace(10) [ [[RB]], %room ], [ [[SB]], %slow ]
; CHECK: [[PA:%.*]] = phi ptr addrspace(10) [ [[RA]], %room ], [ [[SA]], %slow ]
; CHECK: store ptr addrspace(10) [[PA]], ptr addrspace(10) [[PB]]
; CHECK: ret ptr addrspace(10) [[PB]]
define ptr addrspace(10) @pair(i64 %x) {
  %a = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) addrspacecast (ptr @t to ptr addrspace(10)))
  store i64 %x, ptr addrspace(10) %a
  %b = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 24, ptr addrspace(10) addrspacecast (ptr @u to ptr addrspace(10)))
  store ptr addrspace(10) %a, ptr addrspace(10) %b
  ret ptr addrspace(10) %b
}

; What is computed between them is used behind; sizes are rounded up, and none is 0.
; CHECK-LABEL: define i64 @between(
; CHECK: getelementptr i8, ptr %bump, i64 48
; CHECK: slow:
; CHECK: [[SA:%.*]] = call ptr addrspace(10) @tn__gc_allocate(i64 0, ptr @t)
; CHECK: [[SD:%.*]] = addrspacecast ptr addrspace(10) [[SA]] to ptr addrspace(11)
; CHECK: [[SY:%.*]] = add i64 %x, 1
; CHECK: call ptr addrspace(10) @tn__gc_allocate(i64 17, ptr @u)
; CHECK: phi i64 [ %y, %room ], [ [[SY]], %slow ]
; CHECK: phi ptr addrspace(11) [ %d, %room ], [ [[SD]], %slow ]
define i64 @between(i64 %x) {
  %a = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 0, ptr addrspace(10) addrspacecast (ptr @t to ptr addrspace(10)))
  %d = addrspacecast ptr addrspace(10) %a to ptr addrspace(11)
  %y = add i64 %x, 1
  %b = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 17, ptr addrspace(10) addrspacecast (ptr @u to ptr addrspace(10)))
  store i64 %y, ptr addrspace(10) %b
  %z = load i64, ptr addrspace(11) %d
  ret i64 %z
}

; The type of the second one is loaded; three in all.
; CHECK-LABEL: define void @three(
; CHECK: getelementptr i8, ptr %bump, i64 48
; CHECK: slow:
; CHECK: call ptr addrspace(10) @tn__gc_allocate(
; CHECK: [[T:%.*]] = load ptr addrspace(10), ptr @global
; CHECK: [[TYPE:%.*]] = addrspacecast ptr addrspace(10) [[T]] to ptr
; CHECK: call ptr addrspace(10) @tn__gc_allocate(i64 8, ptr [[TYPE]])
; CHECK: call ptr addrspace(10) @tn__gc_allocate(
; CHECK: ret void
@global = global ptr addrspace(10) null
define void @three(ptr addrspace(10) %tag) {
  %a = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 8, ptr addrspace(10) %tag)
  %t = load ptr addrspace(10), ptr @global
  %b = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 8, ptr addrspace(10) %t)
  %c = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 8, ptr addrspace(10) %tag)
  ret void
}

; Not across calls, blocks or what needs a barrier; not of other alignment, of unknown size, nor above the limit.
; CHECK-LABEL: define void @apart(
; CHECK-COUNT-9: room{{[0-9]*}}:
; CHECK: ret void
define void @apart(i64 %n, i1 %k) {
  %a = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 8, ptr addrspace(10) null)
  call void @leaf()
  %b = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 8, ptr addrspace(10) null)
  %c = call align 16 ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 8, ptr addrspace(10) null)
  %d = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 %n, ptr addrspace(10) null)
  %e = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 8, ptr addrspace(10) null)
  fence seq_cst
  %f = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 4500, ptr addrspace(10) null)
  %g = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 4500, ptr addrspace(10) null)
  call void @native()
  %h = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 8, ptr addrspace(10) null)
  br i1 %k, label %next, label %next
next:
  %i = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 8, ptr addrspace(10) null)
  ret void
}

; A phi, and a branch that goes on from the same block.
; CHECK-LABEL: define ptr addrspace(10) @loop(
; CHECK: [[LAST:%.*]] = phi ptr addrspace(10) [ null, %entry ], [ [[B:%.*]], %[[DONE:[0-9a-z.]+]] ]
; CHECK: slow:
; CHECK: [[DONE]]:
; CHECK: [[B]] = phi
; CHECK: br i1 %c, label %loop
define ptr addrspace(10) @loop(i1 %c) {
entry:
  br label %loop
loop:
  %last = phi ptr addrspace(10) [ null, %entry ], [ %b, %loop ]
  %a = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 8, ptr addrspace(10) null)
  store ptr addrspace(10) %last, ptr addrspace(10) %a
  %b = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 8, ptr addrspace(10) null)
  store ptr addrspace(10) %a, ptr addrspace(10) %b
  br i1 %c, label %loop, label %done
done:
  ret ptr addrspace(10) %b
}

; Debug information follows the object to where both sides meet.
; CHECK-LABEL: define ptr addrspace(10) @debugged(
; CHECK: [[O:%object.*]] = phi
; CHECK: #dbg_value(ptr addrspace(10) [[O]],
define ptr addrspace(10) @debugged() !dbg !4 {
  %a = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 8, ptr addrspace(10) null), !dbg !7
  #dbg_value(ptr addrspace(10) %a, !6, !DIExpression(), !7)
  ret ptr addrspace(10) %a, !dbg !7
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "test", emissionKind: FullDebug)
!1 = !DIFile(filename: "test.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !{null})
!4 = distinct !DISubprogram(name: "debugged", file: !1, line: 1, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!6 = !DILocalVariable(name: "o", scope: !4, file: !1, line: 1, type: !8)
!8 = !DIBasicType(name: "ref", size: 64, encoding: DW_ATE_address)
!7 = !DILocation(line: 1, column: 1, scope: !4)
