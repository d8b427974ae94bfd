; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Variables whose address is that of a saved type or object (tenon build --value): code loads it from the image's values.

; RUN: %tenon build -O0 --value link=type:link --value first=root:first --value unused=type:none --emit=unopt-bc -o %t.a %s
; RUN: llvm-ar p %t.a 'text#0.bc' | llvm-dis | FileCheck %s
; RUN: %tenon build -O1 --value link=type:link --value first=root:first --emit=bc -o %t.1.a %s
; RUN: llvm-ar p %t.1.a 'text#0.bc' | llvm-dis | FileCheck %s --check-prefixes=ONCE,HOIST
; RUN: %tenon build -O2 --value link=type:link --value first=root:first --emit=bc -o %t.2.a %s
; RUN: llvm-ar p %t.2.a 'text#0.bc' | llvm-dis | FileCheck %s --check-prefixes=ONCE,HOIST
; RUN: %tenon build -O3 --value link=type:link --value first=root:first --emit=bc -o %t.3.a %s
; RUN: llvm-ar p %t.3.a 'text#0.bc' | llvm-dis | FileCheck %s --check-prefixes=ONCE,HOIST

target triple = "x86_64-pc-linux-gnu"

; CHECK: @tn_image.values = external hidden global [0 x ptr]
@link = external constant [64 x i8]
@first = external global i8
@unused = external constant [64 x i8]
@other = external global i8

declare void @use(ptr)

; A number of the array for each row that is used.
; CHECK: define {{.*}}ptr @address(
; CHECK: %[[A:.*]] = load ptr, ptr @tn_image.values, align 8, !invariant.load
; CHECK-NEXT: ret ptr %[[A]]
define ptr @address() {
  ret ptr @link
}

; CHECK: define {{.*}}ptr @second(
; CHECK: %[[B:.*]] = load ptr, ptr getelementptr inbounds ([0 x ptr], ptr @tn_image.values, i64 0, i64 1), align 8, !invariant.load
define ptr @second() {
  ret ptr @first
}

; Constant expressions become instructions.
; CHECK: define {{.*}}i64 @part(
; CHECK: %[[C:.*]] = load ptr, ptr @tn_image.values
; CHECK: getelementptr {{.*}}ptr %[[C]], i64 8
define i64 @part() {
  %value = load i64, ptr getelementptr (i8, ptr @link, i64 8)
  ret i64 %value
}

; Equal blocks of a phi have one value, loaded where they end.
; CHECK: define {{.*}}ptr @joined(
; CHECK: %[[D:.*]] = load ptr, ptr @tn_image.values
; CHECK-NEXT: switch
; CHECK: phi ptr [ %[[D]], %entry ], [ %[[D]], %entry ], [ @other, %else ]
define ptr @joined(i32 %x) {
entry:
  switch i32 %x, label %else [ i32 0, label %done
                               i32 1, label %done ]
else:
  call void @use(ptr @other)
  br label %done
done:
  %p = phi ptr [ @link, %entry ], [ @link, %entry ], [ @other, %else ]
  ret ptr %p
}

; Loads of one value are the same, also across what may write memory.
; ONCE: define {{.*}}i1 @same(
; ONCE: ret i1 true
define i1 @same() {
  %a = ptrtoint ptr @link to i64
  call void @use(ptr null)
  %b = ptrtoint ptr @link to i64
  %equal = icmp eq i64 %a, %b
  ret i1 %equal
}

; One that is used in a loop is loaded before it.
; HOIST: define {{.*}}void @loop(
; HOIST: load ptr, ptr @tn_image.values
; HOIST-NOT: @tn_image.values
; HOIST: ret void
define void @loop(i64 %n) {
entry:
  br label %again
again:
  %i = phi i64 [ 0, %entry ], [ %next, %again ]
  call void @use(ptr @link)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %again, label %end
end:
  ret void
}
