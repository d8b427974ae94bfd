; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; A managed function that native code defines too. It is called directly, through a pointer, and by another function of its group.

COMDAT
@format = private constant [13 x i8] c"%ld %ld %ld\0A\00"
@pointer = global ptr @shared

declare i32 @printf(ptr, ...)
declare ptr addrspace(10) @julia.gc_alloc_obj(ptr, i64, ptr addrspace(10))
@tn_weak_type = external constant i8

define LINKAGE i64 @shared(i64 %n) noinline GROUP {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) addrspacecast (ptr @tn_weak_type to ptr addrspace(10)))
  %last = icmp eq i64 %n, 0
  br i1 %last, label %end, label %again
again:
  %less = sub i64 %n, 1
  %r = call i64 @shared(i64 %less)
  %more = add i64 %r, 1
  ret i64 %more
end:
  ret i64 0
}

define i64 @beside(i64 %n) noinline {
  %o = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) addrspacecast (ptr @tn_weak_type to ptr addrspace(10)))
  %r = call i64 @shared(i64 %n)
  ret i64 %r
}

define i32 @main() {
  %a = call i64 @shared(i64 1)
  %f = load volatile ptr, ptr @pointer
  %b = call i64 %f(i64 1)
  %c = call i64 @beside(i64 1)
  %p = call i32 (ptr, ...) @printf(ptr @format, i64 %a, i64 %b, i64 %c)
  ret i32 0
}
