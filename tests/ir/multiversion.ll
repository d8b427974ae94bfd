; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Versions of functions: target 1 has versions of what gains by it, target 2 of everything (doc/IMAGE.md).

; RUN: %tenon build --targets 'x86-64;x86-64-v3;x86-64-v4,clone_all,opt_size' --emit=unopt-bc -o %t.a %s
; RUN: llvm-ar p %t.a 'text#0.bc' | llvm-dis | FileCheck %s
; RUN: %tenon build --targets x86-64-v3 --emit=unopt-bc -o %t.one.a %s
; RUN: llvm-ar p %t.one.a 'text#0.bc' | llvm-dis | FileCheck %s --check-prefix=ONE

target triple = "x86_64-pc-linux-gnu"

; Its address is taken: it lies in data, so the name is an entry, and the data stays as it is.
; CHECK: @table = constant [1 x ptr] [ptr @taken.tn_image]
@table = constant [1 x ptr] [ptr @taken]

; An alias leads to the entry.
; CHECK-DAG: @other = alias {{.*}}, ptr @loop
@other = alias i32 (i32), ptr @loop

; One version: a hidden name for the tables.
; ONE: @loop.tn_image.0 = hidden alias {{.*}}, ptr @loop
; ONE: define {{.*}}i32 @loop(i32
; ONE-NOT: .slots

; The entry of a public function: a jump through its slot, whatever its arguments are.
; CHECK: define hidden i32 @loop.tn_image.0(i32 {{.*}}) #[[BASE:[0-9]+]]
define i32 @loop(i32 %n) {
entry:
  br label %again
again:
  %i = phi i32 [ 0, %entry ], [ %next, %again ]
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %again, label %end
end:
  ret i32 %next
}

; It calls what has versions and has none itself: through the slot for those who share it, straight in the others. Slots are numbered by name.
; CHECK: define hidden i32 @caller.tn_image.0(
; CHECK: %[[SLOT:.*]] = load ptr, ptr getelementptr inbounds (ptr, ptr @tn_image.slots, i64 4), align 8, !invariant.load
; CHECK-NEXT: call i32 %[[SLOT]](i32 3)
define i32 @caller() {
  %r = call i32 @loop(i32 3)
  ret i32 %r
}

; What managed code has to know of the function, the call says then.
; CHECK: define hidden i32 @caller_of_leaf.tn_image.0(
; CHECK: call i32 %{{.*}}(i32 3) #[[LEAF:[0-9]+]]
define i32 @caller_of_leaf() {
  %r = call i32 @leaf(i32 3)
  ret i32 %r
}

define i32 @leaf(i32 %n) "gc-leaf-function" {
entry:
  br label %again
again:
  %i = phi i32 [ 0, %entry ], [ %next, %again ]
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %again, label %end
end:
  ret i32 %next
}

; Local, called only: no entry.
; CHECK: define hidden i32 @[[LOCAL:inner[^ (]*]](i32
define internal i32 @inner(i32 %n) {
entry:
  br label %again
again:
  %i = phi i32 [ 0, %entry ], [ %next, %again ]
  %r = call i32 @middle(i32 %i)
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %again, label %end
end:
  ret i32 %next
}

; Called by a version and calling one: it gets one too.
; CHECK: define hidden i32 @[[MIDDLE:middle[^ (]*]](i32
define internal i32 @middle(i32 %n) {
  %r = call i32 @loop(i32 %n)
  ret i32 %r
}

; CHECK: define hidden i32 @taken.tn_image.tn_image.0(
define internal i32 @taken(i32 %n) nounwind {
  %r = call i32 @inner(i32 %n)
  ret i32 %r
}

; A definition that gives way: no call leads past its name.
; CHECK: define hidden i32 @user.tn_image.0(
; CHECK: call i32 @weak(i32 1)
define i32 @user() {
  %r = call i32 @weak(i32 1)
  ret i32 %r
}

; CHECK: define hidden i32 @weak.tn_image.0(
define weak i32 @weak(i32 %n) {
  %r = call i32 @loop(i32 %n)
  ret i32 %r
}

; A label known outside: one version, for what all have in common, whatever CPU the front end had in mind; what the function says
; of its features holds.
; CHECK: define {{.*}}ptr @labels() #[[LABELS:[0-9]+]]
@label = constant ptr blockaddress(@labels, %there)
define ptr @labels() "target-cpu"="znver4" "tune-cpu"="znver4" "target-features"="+avx2,-fma,+bmi" {
  br label %there
there:
  ret ptr blockaddress(@labels, %there)
}

; CHECK: define i32 @loop(i32 {{.*}}) #[[ENTRY:[0-9]+]] {
; CHECK-NEXT: call void asm sideeffect "jmpq *tn_image.slots+32(%rip)", ""()
; CHECK-NEXT: unreachable

; CHECK: define hidden i32 @loop.tn_image.1(i32 {{.*}}) #[[V3:[0-9]+]]
; CHECK: define hidden i32 @loop.tn_image.2(i32 {{.*}}) #[[V4:[0-9]+]]
; CHECK-NOT: @caller.tn_image.1
; CHECK: define hidden i32 @caller.tn_image.2(
; CHECK: call i32 @loop.tn_image.2(i32 3)
; CHECK: define i32 @leaf(i32 {{.*}}) #[[LEAF_ENTRY:[0-9]+]] {
; CHECK: define hidden i32 @[[LOCAL]].tn_image.1(
; CHECK: call i32 @[[MIDDLE]].tn_image.1(
; CHECK: define hidden i32 @[[MIDDLE]].tn_image.1(
; CHECK: call i32 @loop.tn_image.1(
; CHECK: define hidden i32 @taken.tn_image(i32 {{.*}}) #[[QUIET:[0-9]+]] {
; CHECK: weak i32 @weak(

; CHECK-DAG: attributes #[[BASE]] = { {{.*}}"target-cpu"="x86-64" "target-features"="{{.*}}-avx2{{.*}}"
; What its function throws passes through it; only where that throws nothing it is nounwind.
; CHECK-DAG: attributes #[[ENTRY]] = { naked noinline "target-cpu"="x86-64"
; CHECK-DAG: attributes #[[QUIET]] = { naked noinline nounwind "target-cpu"="x86-64"
; CHECK-DAG: attributes #[[LEAF_ENTRY]] = { naked noinline "gc-leaf-function" "target-cpu"="x86-64"
; CHECK-DAG: attributes #[[LEAF]] = { "gc-leaf-function" }
; CHECK-DAG: attributes #[[LABELS]] = { "target-cpu"="x86-64" "target-features"="{{.*}}-avx2,{{.*}},+avx2,+bmi"{{( "tenon[^ ]*")*}} }
; CHECK-DAG: attributes #[[V3]] = { {{.*}}"target-cpu"="x86-64-v3" "target-features"="{{.*}}+avx2{{.*}}"
; CHECK-DAG: attributes #[[V4]] = { optsize {{.*}}"target-cpu"="x86-64-v4" "target-features"="{{.*}}+avx512f{{.*}}"
