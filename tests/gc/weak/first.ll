; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; One of two modules that define the same functions and the same global; tests/gc/weak.sh replaces LINKAGE, COMDAT and VARIABLE.
%type = type { ptr, i32, i32, i64, i64, i64, i64, ptr, i64, ptr }
@name = private constant [5 x i8] c"node\00"
@node = constant %type { ptr @name, i32 1, i32 8, i64 16, i64 0, i64 0, i64 1, ptr null, i64 0, ptr null }, align 16
@format = private constant [11 x i8] c"%lld %lld\0A\00"
$make = comdat any
$sum = comdat any
$kept = comdat any
@kept = LINKAGE global ptr addrspace(10) nullVARIABLE
declare ptr addrspace(10) @tn__gc_allocate(i64, ptr)
declare i32 @printf(ptr, ...)
declare void @second()

define LINKAGE ptr addrspace(10) @make(i64 %n) noinline COMDAT {
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

define LINKAGE i64 @sum(ptr addrspace(10) %list) noinline COMDAT {
entry:
  %unused = call ptr addrspace(10) @make(i64 1)
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

define void @show() noinline {
  %other = call ptr addrspace(10) @make(i64 10)
  %kept = load ptr addrspace(10), ptr @kept
  %x = call i64 @sum(ptr addrspace(10) %kept)
  %y = call i64 @sum(ptr addrspace(10) %other)
  call i32 (ptr, ...) @printf(ptr @format, i64 %x, i64 %y)
  ret void
}

define i32 @main() {
  %list = call ptr addrspace(10) @make(i64 100)
  store ptr addrspace(10) %list, ptr @kept
  call void @second()
  call void @show()
  store ptr addrspace(10) null, ptr @kept
  ret i32 0
}
