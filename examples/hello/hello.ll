; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; tenon run hello.ll
; No triple and no data layout: the host's are taken.

@format = private unnamed_addr constant [28 x i8] c"Hello! 12 factorial is %llu\00"

declare i32 @printf(ptr, ...)
declare i32 @putchar(i32)

define i64 @factorial(i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 1, %entry ], [ %next, %loop ]
  %product = phi i64 [ 1, %entry ], [ %more, %loop ]
  %more = mul i64 %product, %i
  %next = add i64 %i, 1
  %again = icmp ule i64 %next, %n
  br i1 %again, label %loop, label %done
done:
  ret i64 %more
}

define i32 @main() {
  %result = call i64 @factorial(i64 12)
  %printed = call i32 (ptr, ...) @printf(ptr @format, i64 %result)
  %newline = call i32 @putchar(i32 10)
  ret i32 0
}
