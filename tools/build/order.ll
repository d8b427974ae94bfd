; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; What tools/build/order watches the tool compile and run: a bit of everything that small programs are made of.

%pair = type { i64, double }

@table = internal global [16 x i32] zeroinitializer
@total = internal global double 0.0
@hook = internal global ptr @twice
@text = private constant [13 x i8] c"%d %.3f %lu\0A\00"

declare i32 @printf(ptr, ...)
declare ptr @malloc(i64)
declare void @free(ptr)
declare double @sqrt(double)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define internal i32 @twice(i32 %x) {
  %y = shl i32 %x, 1
  ret i32 %y
}

define internal i32 @choose(i32 %x) {
entry:
  switch i32 %x, label %other [ i32 1, label %one
                                i32 2, label %two
                                i32 3, label %three
                                i32 5, label %one ]
one:
  ret i32 10
two:
  ret i32 20
three:
  %f = load ptr, ptr @hook
  %y = call i32 %f(i32 %x)
  ret i32 %y
other:
  %q = sdiv i32 %x, 7
  ret i32 %q
}

define internal double @accumulate(ptr %pairs, i64 %count) {
entry:
  %empty = icmp eq i64 %count, 0
  br i1 %empty, label %done, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi double [ 0.0, %entry ], [ %more, %loop ]
  %slot = getelementptr %pair, ptr %pairs, i64 %i, i32 1
  %value = load double, ptr %slot
  %root = call double @sqrt(double %value)
  %more = fadd double %sum, %root
  %next = add i64 %i, 1
  %end = icmp eq i64 %next, %count
  br i1 %end, label %done, label %loop
done:
  %result = phi double [ 0.0, %entry ], [ %more, %loop ]
  store double %result, ptr @total
  ret double %result
}

define i32 @main(i32 %argc, ptr %argv) {
entry:
  %local = alloca [4 x %pair]
  call void @llvm.memset.p0.i64(ptr %local, i8 0, i64 64, i1 false)
  %block = call ptr @malloc(i64 160)
  br label %fill
fill:
  %i = phi i64 [ 0, %entry ], [ %next, %fill ]
  %key = getelementptr %pair, ptr %block, i64 %i
  store i64 %i, ptr %key
  %slot = getelementptr %pair, ptr %block, i64 %i, i32 1
  %number = uitofp i64 %i to double
  store double %number, ptr %slot
  %small = trunc i64 %i to i32
  %chosen = call i32 @choose(i32 %small)
  %cell = getelementptr [16 x i32], ptr @table, i64 0, i64 %i
  store i32 %chosen, ptr %cell
  %next = add i64 %i, 1
  %end = icmp eq i64 %next, 10
  br i1 %end, label %filled, label %fill
filled:
  %sum = call double @accumulate(ptr %block, i64 10)
  %last = load i32, ptr getelementptr ([16 x i32], ptr @table, i64 0, i64 3)
  %address = ptrtoint ptr %local to i64
  %aligned = and i64 %address, 7
  call i32 (ptr, ...) @printf(ptr @text, i32 %last, double %sum, i64 %aligned)
  call void @free(ptr %block)
  ret i32 0
}
