; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Counters of calls and back edges: one record for the module, an entry, each loop by its number.

; RUN: %tenon opt --passes=count-calls %s -o %t.ll
; RUN: FileCheck %s <%t.ll

; CHECK: @tenon.limits.0.0 = external hidden global i8
; CHECK: @tenon.module.0 = external hidden global i8
; CHECK: @tenon.counter = internal global { i32, i32, ptr, ptr, i32, i32, i32, i32 } { i32 0, i32 0, ptr @tenon.limits.0.0, ptr @tenon.module.0, i32 0, i32 0, i32 0, i32 0 }, align 64

; Variables of the frame stay where the code generator knows them; an argument is stored before.
; CHECK-LABEL: define i64 @plain(
; CHECK-NEXT: %a = alloca i64
; CHECK-NEXT: store i64 %n, ptr %a
; CHECK-NEXT: %b = alloca i64
; CHECK-NEXT: store i64 %n, ptr %b
; CHECK-NEXT: %[[LEFT:.*]] = load i32, ptr @tenon.counter, align 4
; CHECK-NEXT: %[[LESS:.*]] = sub i32 %[[LEFT]], 1
; CHECK-NEXT: store i32 %[[LESS]], ptr @tenon.counter, align 4
; CHECK-NEXT: %[[SOME:.*]] = icmp sge i32 %[[LESS]], 0
; CHECK-NEXT: br i1 %[[SOME]], label %[[REST:.*]], label %[[TOLD:.*]], !prof
; CHECK: [[TOLD]]:
; CHECK-NEXT: call void @tenon.told.0(ptr @tenon.counter, i32 0)
; CHECK-NEXT: br label %[[REST]]
; CHECK: [[REST]]:
; CHECK-NEXT: %v = load i64, ptr %a
define i64 @plain(i64 %n) {
  %a = alloca i64
  store i64 %n, ptr %a
  %b = alloca i64
  store i64 %n, ptr %b
  %v = load i64, ptr %a
  ret i64 %v
}

; Two loops, of which the inner one has two ends, and a block from which no way leads here.
; CHECK-LABEL: define void @nested(
; CHECK: call void @tenon.told.0(ptr @tenon.counter, i32 0)
; CHECK: outer:
; CHECK: inner:
; CHECK: load i32, ptr getelementptr inbounds (i8, ptr @tenon.counter, i64 4), align 4
; CHECK: call void @tenon.told.0(ptr @tenon.counter, i32 2)
; CHECK: second:
; CHECK: call void @tenon.told.0(ptr @tenon.counter, i32 2)
; CHECK: after:
; CHECK: call void @tenon.told.0(ptr @tenon.counter, i32 1)
; CHECK-NOT: call
; CHECK: ret void
define void @nested(i1 %c, i1 %d) {
entry:
  br label %outer
outer:
  br label %inner
inner:
  br i1 %c, label %inner, label %second
second:
  br i1 %d, label %inner, label %after
after:
  br i1 %c, label %outer, label %done
done:
  ret void
dead:
  br label %dead
}

; What is inlined only, or is a frame of its own, is not counted.
; CHECK-LABEL: define available_externally void @elsewhere(
; CHECK-NEXT: ret void
define available_externally void @elsewhere() {
  ret void
}
; CHECK: define void @assembly()
; CHECK-NEXT: call void asm
define void @assembly() naked {
  call void asm sideeffect "ret", ""()
  unreachable
}

; CHECK: declare hidden void @tenon.told.0(ptr, i32) #[[LEAF:[0-9]+]]
; CHECK: attributes #[[LEAF]] = { "gc-leaf-function" }
