; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; What tools/build/small/order watches the tool compile and run: a bit of everything that small programs are made of.

%pair = type { i64, double }

@table = internal global [16 x i32] zeroinitializer
@total = internal global double 0.0
@hook = internal global ptr @twice
@text = private constant [13 x i8] c"%d %.3f %lu\0A\00"

declare i32 @printf(ptr, ...)
declare ptr @malloc(i64)
declare void @free(ptr)
declare double @sqrt(double)
declare i64 @strlen(ptr)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
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

; Conditions as values, not branches.
define internal i32 @differs(i64 %x, i64 %y) {
  %different = icmp ne i64 %x, %y
  %result = zext i1 %different to i32
  ret i32 %result
}

define internal i1 @between(double %x, i8 %low, i32 %high) {
  %from = sitofp i8 %low to double
  %to = sitofp i32 %high to double
  %above = fcmp ogt double %x, %from
  %below = fcmp olt double %x, %to
  %both = and i1 %above, %below
  ret i1 %both
}

define internal i64 @mix(i64 %x, i32 %y) {
  %wide = sext i32 %y to i64
  %left = shl i64 %x, 7
  %right = lshr i64 %x, 57
  %rotated = or i64 %left, %right
  %product = mul i64 %wide, -7046029254386353131
  %mixed = xor i64 %rotated, %product
  %negative = icmp slt i64 %mixed, 0
  %opposite = sub i64 0, %mixed
  %result = select i1 %negative, i64 %opposite, i64 %mixed
  ret i64 %result
}

define internal i64 @factorial(i64 %n) {
entry:
  %end = icmp ult i64 %n, 2
  br i1 %end, label %one, label %more
one:
  ret i64 1
more:
  %less = add i64 %n, -1
  %rest = call i64 @factorial(i64 %less)
  %product = mul i64 %n, %rest
  ret i64 %product
}

; Characters, through allocas as front ends write them.
define internal i32 @count(ptr %string, i8 %wanted) {
entry:
  %at = alloca ptr
  %number = alloca i32
  store ptr %string, ptr %at
  store i32 0, ptr %number
  br label %next
next:
  %p = load ptr, ptr %at
  %c = load i8, ptr %p
  %code = zext i8 %c to i32
  %end = icmp eq i32 %code, 0
  br i1 %end, label %done, label %test
test:
  %same = icmp eq i8 %c, %wanted
  br i1 %same, label %hit, label %step
hit:
  %old = load i32, ptr %number
  %new = add nsw i32 %old, 1
  store i32 %new, ptr %number
  br label %step
step:
  %after = getelementptr inbounds i8, ptr %p, i64 1
  store ptr %after, ptr %at
  br label %next
done:
  %result = load i32, ptr %number
  ret i32 %result
}

define internal void @copy(ptr %to, ptr %from) {
  %length = call i64 @strlen(ptr %from)
  %short = call i64 @llvm.umin.i64(i64 %length, i64 15)
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %short, i1 false)
  %end = getelementptr i8, ptr %to, i64 %short
  store i8 0, ptr %end
  ret void
}

define internal void @use_all(ptr %text) {
  %buffer = alloca [16 x i8]
  call void @copy(ptr %buffer, ptr %text)
  %letters = call i32 @count(ptr %buffer, i8 108)
  %wide = zext i32 %letters to i64
  %big = call i64 @factorial(i64 %wide)
  %mixed = call i64 @mix(i64 %big, i32 %letters)
  %x = load double, ptr @total
  %inside = call i1 @between(double %x, i8 1, i32 %letters)
  %flag = call i32 @differs(i64 %mixed, i64 %big)
  %chosen = select i1 %inside, i32 %flag, i32 %letters
  call i32 (ptr, ...) @printf(ptr @text, i32 %chosen, double %x, i64 %mixed)
  ret void
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
  call void @use_all(ptr @text)
  ret i32 0
}
