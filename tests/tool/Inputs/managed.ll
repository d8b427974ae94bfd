; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; a list of references that survives collections at each allocation
%type = type { ptr, i32, i32, i64, i64, i64, i64, ptr, i64, ptr }
@name = constant [5 x i8] c"node\00"
@node = constant %type { ptr @name, i32 1, i32 8, i64 16, i64 0, i64 0, i64 1, ptr null, i64 0, ptr null }, align 16
@format = constant [6 x i8] c"%lld\0A\00"
declare ptr addrspace(10) @tn__gc_allocate(i64, ptr)
declare i32 @printf(ptr, ...)

define ptr addrspace(10) @build(i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %head = phi ptr addrspace(10) [ null, %entry ], [ %new, %loop ]
  %new = call ptr addrspace(10) @tn__gc_allocate(i64 16, ptr @node)
  store ptr addrspace(10) %head, ptr addrspace(10) %new
  %c = addrspacecast ptr addrspace(10) %new to ptr addrspace(11)
  %f = getelementptr i64, ptr addrspace(11) %c, i64 1
  store i64 %i, ptr addrspace(11) %f
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret ptr addrspace(10) %new
}
define i64 @sum(ptr addrspace(10) %list) {
entry:
  br label %loop
loop:
  %at = phi ptr addrspace(10) [ %list, %entry ], [ %next, %loop ]
  %s = phi i64 [ 0, %entry ], [ %t, %loop ]
  %c = addrspacecast ptr addrspace(10) %at to ptr addrspace(11)
  %f = getelementptr i64, ptr addrspace(11) %c, i64 1
  %v = load i64, ptr addrspace(11) %f
  %t = add i64 %s, %v
  %next = load ptr addrspace(10), ptr addrspace(10) %at
  %end = icmp eq ptr addrspace(10) %next, null
  br i1 %end, label %done, label %loop
done:
  ret i64 %t
}
define i32 @main() {
  %a = call ptr addrspace(10) @build(i64 1000)
  %b = call ptr addrspace(10) @build(i64 500)
  %x = call i64 @sum(ptr addrspace(10) %a)
  call i32 (ptr, ...) @printf(ptr @format, i64 %x)
  %y = call i64 @sum(ptr addrspace(10) %b)
  call i32 (ptr, ...) @printf(ptr @format, i64 %y)
  ret i32 0
}
