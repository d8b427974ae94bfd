; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Of the convention CONVENTION. Lines that begin with `;managed` are part of it if it is managed.

define CONVENTION i64 @callee(i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f, i64 %g, i64 %h, double %x, double %y) noinline {
;managed %new = call ptr addrspace(10) @tn__gc_allocate(i64 16, ptr @number)
;managed %inside = addrspacecast ptr addrspace(10) %new to ptr addrspace(11)
;managed store i64 %a, ptr addrspace(11) %inside
  %1 = mul i64 %a, 2
  %2 = mul i64 %b, 3
  %3 = mul i64 %c, 4
  %4 = mul i64 %d, 5
  %5 = mul i64 %e, 6
  %6 = mul i64 %f, 7
  %7 = mul i64 %g, 8
  %8 = mul i64 %h, 9
  %9 = fmul double %x, 10.0
  %10 = fmul double %y, 11.0
  %11 = fadd double %9, %10
  %12 = fptosi double %11 to i64
  %13 = add i64 %1, %2
  %14 = add i64 %13, %3
  %15 = add i64 %14, %4
  %16 = add i64 %15, %5
  %17 = add i64 %16, %6
  %18 = add i64 %17, %7
  %19 = add i64 %18, %8
  %20 = add i64 %19, %12
  ret i64 %20
}
