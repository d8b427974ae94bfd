; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Managed code: prints 1030.

%type = type { ptr, i32, i32, i64, i64, i64, i64, ptr, i64, ptr }
@name = constant [7 x i8] c"number\00"
@number = constant %type { ptr @name, i32 1, i32 8, i64 16, i64 0, i64 0, i64 0, ptr null, i64 0, ptr null }, align 16
@format = constant [6 x i8] c"%lld\0A\00"
declare ptr addrspace(10) @tn__gc_allocate(i64, ptr)
declare i32 @printf(ptr, ...)
declare CONVENTION i64 @callee(i64, i64, i64, i64, i64, i64, i64, i64, double, double)

; 1 to 10, times 2 to 11: 440; and what lives across the call
define i64 @caller(ptr addrspace(10) %o, i64 %k, i64 %l, i64 %m, double %x) noinline {
  %a = add i64 %k, 0
  %b = add i64 %k, 1
  %c = add i64 %k, 2
  %d = add i64 %k, 3
  %e = add i64 %k, 4
  %f = add i64 %k, 5
  %g = add i64 %k, 6
  %h = add i64 %k, 7
  %y = fadd double %x, 1.0
  %r = call CONVENTION i64 @callee(i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f, i64 %g, i64 %h, double %x, double %y)
  %inside = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %v = load i64, ptr addrspace(11) %inside
  %xi = fptosi double %x to i64
  %1 = add i64 %r, %v
  %2 = add i64 %1, %l
  %3 = add i64 %2, %m
  %4 = add i64 %3, %b
  %5 = add i64 %4, %xi
  ret i64 %5
}
define i32 @main() {
  %o = call ptr addrspace(10) @tn__gc_allocate(i64 16, ptr @number)
  %inside = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  store i64 500, ptr addrspace(11) %inside
  %v = call i64 @caller(ptr addrspace(10) %o, i64 1, i64 50, i64 29, double 9.0)
  call i32 (ptr, ...) @printf(ptr @format, i64 %v)
  ret i32 0
}
