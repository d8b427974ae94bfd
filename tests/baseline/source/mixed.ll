; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Functions of the baseline compiler that call others of LLVM, which have inline assembly, and the other way round; and
; functions that are LLVM's because the baseline compiler could not do the same.

@line = private constant [9 x i8] c"%s: %lx\0A\00"
@n1 = private constant [16 x i8] c"part to LLVM's\00\00"
@n2 = private constant [16 x i8] c"array to LLVM's\00"
@n3 = private constant [16 x i8] c"part from LLVM\00\00"
@n4 = private constant [16 x i8] c"zero-extended\00\00\00"
@n5 = private constant [16 x i8] c"sign-extended\00\00\00"
@n6 = private constant [16 x i8] c"returned\00\00\00\00\00\00\00\00"
@n7 = private constant [16 x i8] c"kept\00\00\00\00\00\00\00\00\00\00\00\00"
declare i32 @printf(ptr, ...)
declare ptr @llvm.stacksave()
declare void @llvm.stackrestore(ptr)

; One register is left for the two halves.
define i64 @part(i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, { i128 } %s, i64 %t) noinline {
  call void asm sideeffect "", ""()
  %v = extractvalue { i128 } %s, 0
  %h = lshr i128 %v, 64
  %x = trunc i128 %v to i64
  %y = trunc i128 %h to i64
  %z = sub i64 %x, %y
  %w = mul i64 %z, %t
  ret i64 %w
}
; None is, and the stack is at an odd word.
define i64 @array(i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f, i64 %g, [1 x i128] %s, i64 %t) noinline {
  call void asm sideeffect "", ""()
  %v = extractvalue [1 x i128] %s, 0
  %h = lshr i128 %v, 64
  %x = trunc i128 %v to i64
  %y = trunc i128 %h to i64
  %z = sub i64 %x, %y
  %w = mul i64 %z, %t
  ret i64 %w
}
define i64 @covered_part(i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, { i128 } %s, i64 %t) noinline {
  %v = extractvalue { i128 } %s, 0
  %h = lshr i128 %v, 64
  %x = trunc i128 %v to i64
  %y = trunc i128 %h to i64
  %z = sub i64 %x, %y
  %w = mul i64 %z, %t
  ret i64 %w
}
define i64 @to_part(i128 %v) noinline {
  %s = insertvalue { i128 } poison, i128 %v, 0
  %r = call i64 @part(i64 1, i64 2, i64 3, i64 4, i64 5, { i128 } %s, i64 3)
  ret i64 %r
}
define i64 @to_array(i128 %v) noinline {
  %s = insertvalue [1 x i128] poison, i128 %v, 0
  %r = call i64 @array(i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, [1 x i128] %s, i64 3)
  ret i64 %r
}
define i64 @from_part(i128 %v) noinline {
  call void asm sideeffect "", ""()
  %s = insertvalue { i128 } poison, i128 %v, 0
  %r = call i64 @covered_part(i64 1, i64 2, i64 3, i64 4, i64 5, { i128 } %s, i64 3)
  ret i64 %r
}

; What is above the width is the caller's to extend, and of results the callee's: these look at the whole register.
define i64 @whole(i64 %x) noinline {
  call void asm sideeffect "", ""()
  ret i64 %x
}
define i64 @to_zero(i48 %a) noinline {
  %s = add i48 %a, %a
  %r = call i64 @whole(i48 zeroext %s)
  ret i64 %r
}
define i64 @to_sign(i48 %a) noinline {
  %s = add i48 %a, %a
  %r = call i64 @whole(i48 signext %s)
  ret i64 %r
}
define zeroext i48 @sum(i48 %a) noinline {
  %s = add i48 %a, %a
  ret i48 %s
}
define i64 @from_sum(i48 %a) noinline {
  call void asm sideeffect "", ""()
  %s = call i64 @sum(i48 %a)
  ret i64 %s
}

; A variable of the frame, whatever the stack is set to.
define void @write(i64 %n) noinline {
  %p = alloca [64 x i64]
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %j, %loop ]
  %q = getelementptr i64, ptr %p, i64 %i
  store volatile i64 %n, ptr %q
  %j = add i64 %i, 1
  %again = icmp ult i64 %j, 64
  br i1 %again, label %loop, label %end
end:
  ret void
}
define i64 @keeps(i64 %x) noinline {
  %saved = call ptr @llvm.stacksave()
  %v = alloca i64, align 64
  store volatile i64 %x, ptr %v
  call void @llvm.stackrestore(ptr %saved)
  call void @write(i64 7)
  %r = load volatile i64, ptr %v
  ret i64 %r
}

define void @say(ptr %name, i64 %x) {
  %r = call i32 (ptr, ...) @printf(ptr @line, ptr %name, i64 %x)
  ret void
}
define i32 @main() {
  %v1 = call i64 @to_part(i128 129127208515966861412)
  call void @say(ptr @n1, i64 %v1)
  %v2 = call i64 @to_array(i128 129127208515966861412)
  call void @say(ptr @n2, i64 %v2)
  %v3 = call i64 @from_part(i128 129127208515966861412)
  call void @say(ptr @n3, i64 %v3)
  %v4 = call i64 @to_zero(i48 211106232532992)
  call void @say(ptr @n4, i64 %v4)
  %v5 = call i64 @to_sign(i48 70368744177664)
  call void @say(ptr @n5, i64 %v5)
  %v6 = call i64 @from_sum(i48 211106232532992)
  call void @say(ptr @n6, i64 %v6)
  %v7 = call i64 @keeps(i64 42)
  call void @say(ptr @n7, i64 %v7)
  ret i32 0
}
