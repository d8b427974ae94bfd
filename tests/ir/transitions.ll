; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Entries and bodies; leaves; variable arguments; what a declaration says.

; RUN: %tenon opt --passes=manage-functions,transitions %s | FileCheck %s

$shared = comdat any

declare void @native()
declare i64 @elsewhere(i64) gc "tenon"
declare i64 @printf(ptr, ...)

; CHECK: @table = global [2 x ptr] [ptr @public, ptr @kept]
@table = global [2 x ptr] [ptr @public, ptr @kept]

; CHECK: @leaf.m = hidden alias i64 (i64), ptr @leaf

; CHECK-LABEL: define hidden i64 @public.m(i64 signext %n){{.*}} gc "tenon"
; CHECK: call i64 @elsewhere.m(i64 %n)
; CHECK: call i64 @leaf(i64 1)
; CHECK: call i64 @only_here(i64 2)
; CHECK: call i64 @tn.variable_arguments(ptr @printf, ptr @table, i64 3)
; CHECK: call i64 @shared(i64 4)
; CHECK: call i64 @naked(i64 5)
define i64 @public(i64 signext %n) {
  call void @native()
  %a = call i64 @elsewhere(i64 %n)
  %b = call i64 @leaf(i64 1)
  %c = call i64 @only_here(i64 2)
  %d = call i64 (ptr, ...) @printf(ptr @table, i64 3)
  %e = call i64 @shared(i64 4)
  %f = call i64 @naked(i64 5)
  ret i64 %a
}

; Nobody knows where the assembly leads: native code, and no leaf.
; CHECK: define i64 @naked(i64 %n) #[[NAKED:[0-9]+]] {
define i64 @naked(i64 %n) naked {
  call void asm sideeffect "jmp elsewhere", ""()
  unreachable
}

; No collection can happen here: an ordinary function.
; CHECK-LABEL: define i64 @leaf(i64 %n) #
; CHECK-NOT: gc
; CHECK: ret
define i64 @leaf(i64 %n) {
  ret i64 %n
}

; Only called directly: no entry.
; CHECK-LABEL: define internal i64 @only_here(i64 %n){{.*}} gc "tenon"
define internal i64 @only_here(i64 %n) {
  call void @native()
  ret i64 %n
}

; Its address is taken: an entry, local like the body.
; CHECK-LABEL: define internal i64 @kept.m(
define internal i64 @kept(i64 %n) {
  call void @native()
  ret i64 %n
}

; Unwinding goes on through a call out of managed code.
; CHECK-LABEL: define hidden void @cleanup.m(
; CHECK: [[PAD:%.*]] = landingpad
; CHECK-NEXT: cleanup
; CHECK-NEXT: [[X:%.*]] = extractvalue { ptr, i32 } [[PAD]], 0
; CHECK-NEXT: call void @_Unwind_Resume(ptr [[X]])
; CHECK-NEXT: unreachable
define void @cleanup() personality ptr @personality {
  invoke void @native() to label %done unwind label %caught
done:
  ret void
caught:
  %pad = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %pad
}
declare i32 @personality(...)

; CHECK-LABEL: define linkonce_odr hidden i64 @shared.m(i64 %n){{.*}} comdat($shared) gc "tenon"
define linkonce_odr i64 @shared(i64 %n) comdat {
  call void @native()
  ret i64 %n
}

; CHECK-LABEL: define i64 @public(i64 signext %0)
; CHECK: [[BLOCK:%.*]] = call ptr @llvm.threadlocal.address.p0(ptr @tn__gc_block)
; CHECK: [[FIELD:%.*]] = getelementptr i8, ptr [[BLOCK]], i64 24
; CHECK: [[TOP:%.*]] = load ptr, ptr [[FIELD]]
; CHECK: call ptr @llvm.frameaddress.p0(i32 0)
; CHECK: [[SP:%.*]] = load i64, ptr [[TOP]]
; CHECK: [[OUTER:%.*]] = getelementptr i8, ptr [[TOP]], i64 -24
; CHECK: icmp ugt i64
; CHECK: icmp ugt i64
; CHECK: good:
; CHECK: [[NEXT:%.*]] = getelementptr i8, ptr [[TOP]], i64 24
; CHECK: store i64 0, ptr [[NEXT]]
; CHECK: [[FRAME:%.*]] = getelementptr i8, ptr [[NEXT]], i64 8
; CHECK: store i64 %frame, ptr [[FRAME]]
; CHECK: store atomic ptr [[NEXT]], ptr %{{.*}} release
; CHECK: fence syncscope("singlethread") seq_cst
; CHECK: [[FIELD:%.*]] = getelementptr i8, ptr [[BLOCK]], i64 16
; CHECK: [[WANTED:%.*]] = load atomic i64, ptr [[FIELD]] acquire
; CHECK: icmp eq i64 [[WANTED]], 0
; CHECK: slow:
; CHECK: store atomic ptr [[TOP]], ptr %{{.*}} release
; CHECK: [[FOUND:%.*]] = call ptr @tn__gc_enter(i64 %frame)
; CHECK: go:
; CHECK: [[LEVEL:%.*]] = phi ptr [ [[TOP]], %good ], [ [[FOUND]], %slow ]
; CHECK: [[R:%.*]] = call i64 @public.m(i64 signext %0) #
; CHECK: store atomic ptr [[LEVEL]], ptr %{{.*}} release
; CHECK: ret i64 [[R]]

; CHECK-LABEL: define internal i64 @kept(
; CHECK-LABEL: define linkonce_odr i64 @shared(i64 %0){{.*}} comdat

; CHECK: attributes #[[NAKED]] = { naked }
