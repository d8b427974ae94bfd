; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Vectors of addresses, and vectors of bits as integers of their number.

%record = type { i32, [3 x i64] }

@format = private unnamed_addr constant [9 x i8] c"%ld %ld\0A\00"
@masks = private unnamed_addr constant [7 x i8] c"%d %d\0A\00"
@base = global i8 0
declare i32 @printf(ptr, ...)

define void @addresses(i64 %i, i32 %j) noinline {
  %base = ptrtoint ptr @base to i64
  %one = insertelement <2 x i64> <i64 7, i64 poison>, i64 %i, i64 1
  %two = insertelement <2 x i32> <i32 poison, i32 -3>, i32 %j, i64 0
  %a = getelementptr %record, ptr @base, <2 x i64> %one
  %a.p0 = extractelement <2 x ptr> %a, i64 0
  %a.p1 = extractelement <2 x ptr> %a, i64 1
  %a.0 = ptrtoint ptr %a.p0 to i64
  %a.1 = ptrtoint ptr %a.p1 to i64
  %a.2 = sub i64 %a.0, %base
  %a.3 = sub i64 %a.1, %base
  call i32 (ptr, ...) @printf(ptr @format, i64 %a.2, i64 %a.3)
  %b = getelementptr %record, <2 x ptr> %a, i64 2, i32 1, <2 x i32> %two
  %b.p0 = extractelement <2 x ptr> %b, i64 0
  %b.p1 = extractelement <2 x ptr> %b, i64 1
  %b.0 = ptrtoint ptr %b.p0 to i64
  %b.1 = ptrtoint ptr %b.p1 to i64
  %b.2 = sub i64 %b.0, %base
  %b.3 = sub i64 %b.1, %base
  call i32 (ptr, ...) @printf(ptr @format, i64 %b.2, i64 %b.3)
  %c = getelementptr i16, <2 x ptr> %b, <2 x i64> <i64 5, i64 6000000000>
  %c.p0 = extractelement <2 x ptr> %c, i64 0
  %c.p1 = extractelement <2 x ptr> %c, i64 1
  %c.0 = ptrtoint ptr %c.p0 to i64
  %c.1 = ptrtoint ptr %c.p1 to i64
  %c.2 = sub i64 %c.0, %base
  %c.3 = sub i64 %c.1, %base
  call i32 (ptr, ...) @printf(ptr @format, i64 %c.2, i64 %c.3)
  %d = getelementptr i8, <2 x ptr> %c, i64 %i
  %d.p0 = extractelement <2 x ptr> %d, i64 0
  %d.p1 = extractelement <2 x ptr> %d, i64 1
  %d.0 = ptrtoint ptr %d.p0 to i64
  %d.1 = ptrtoint ptr %d.p1 to i64
  %d.2 = sub i64 %d.0, %base
  %d.3 = sub i64 %d.1, %base
  call i32 (ptr, ...) @printf(ptr @format, i64 %d.2, i64 %d.3)
  %e = getelementptr i8, <2 x ptr> %d, <2 x i64> splat (i64 9)
  %e.p0 = extractelement <2 x ptr> %e, i64 0
  %e.p1 = extractelement <2 x ptr> %e, i64 1
  %e.0 = ptrtoint ptr %e.p0 to i64
  %e.1 = ptrtoint ptr %e.p1 to i64
  %e.2 = sub i64 %e.0, %base
  %e.3 = sub i64 %e.1, %base
  call i32 (ptr, ...) @printf(ptr @format, i64 %e.2, i64 %e.3)
  ret void
}

define void @bits(i32 %a, i32 %b) noinline {
  %v = insertelement <4 x i32> <i32 1, i32 2, i32 3, i32 4>, i32 %a, i64 2
  %w = insertelement <4 x i32> poison, i32 %b, i64 0
  %all = shufflevector <4 x i32> %w, <4 x i32> poison, <4 x i32> zeroinitializer
  %less = icmp slt <4 x i32> %v, %all
  %mask = bitcast <4 x i1> %less to i4
  %wide = zext i4 %mask to i32
  %signed = sext i4 %mask to i32
  call i32 (ptr, ...) @printf(ptr @masks, i32 %wide, i32 %signed)
  ret void
}

define i32 @main() {
  call void @addresses(i64 5, i32 1)
  call void @addresses(i64 -100, i32 -2)
  call void @bits(i32 0, i32 2)
  call void @bits(i32 9, i32 5)
  call void @bits(i32 -9, i32 -5)
  ret i32 0
}
