; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Handlers in managed code: what they use was allocated before the try, and has moved since.

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"
target triple = "x86_64-pc-linux-gnu"

%node = type { i64, ptr addrspace(10) }
@node_type = external constant i64, align 16

declare ptr addrspace(10) @tenon.gc_alloc_obj(ptr, i64, ptr addrspace(10))
declare i32 @tenon.except_enter()
declare void @tenon_pop_handler(i32)
declare void @throw_if(i64, i64)
declare void @throw_now(i64)

define internal ptr addrspace(10) @make(i64 %value, ptr addrspace(10) %next) noinline {
  %n = call ptr addrspace(10) @tenon.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) addrspacecast (ptr @node_type to ptr addrspace(10)))
  store i64 %value, ptr addrspace(10) %n
  %d = addrspacecast ptr addrspace(10) %n to ptr addrspace(11)
  %p = getelementptr i8, ptr addrspace(11) %d, i64 8
  store ptr addrspace(10) %next, ptr addrspace(11) %p
  ret ptr addrspace(10) %n
}

define internal i64 @sum(ptr addrspace(10) %list) noinline {
entry:
  br label %loop
loop:
  %n = phi ptr addrspace(10) [ %list, %entry ], [ %next, %more ]
  %s = phi i64 [ 0, %entry ], [ %t, %more ]
  %c = icmp eq ptr addrspace(10) %n, null
  br i1 %c, label %done, label %more
more:
  %v = load i64, ptr addrspace(10) %n
  %t = add i64 %s, %v
  %d = addrspacecast ptr addrspace(10) %n to ptr addrspace(11)
  %p = getelementptr i8, ptr addrspace(11) %d, i64 8
  %next = load ptr addrspace(10), ptr addrspace(11) %p
  br label %loop
done:
  ret i64 %s
}

; Throws after it has allocated, through several managed frames.
define internal void @deep(i64 %depth, i64 %number) noinline {
  %n = call ptr addrspace(10) @make(i64 %depth, ptr addrspace(10) null)
  %c = icmp eq i64 %depth, 0
  br i1 %c, label %throw, label %more
more:
  %d = sub i64 %depth, 1
  call void @deep(i64 %d, i64 %number)
  %v = load i64, ptr addrspace(10) %n
  call void @throw_if(i64 %v, i64 1000)
  ret void
throw:
  call void @throw_now(i64 %number)
  unreachable
}

; One handler: references, a pointer into an object, and a variable that the try changes live into it.
define internal i64 @one(i64 %i) noinline {
  %list = call ptr addrspace(10) @make(i64 %i, ptr addrspace(10) null)
  %list2 = call ptr addrspace(10) @make(i64 100, ptr addrspace(10) %list)
  %d = addrspacecast ptr addrspace(10) %list2 to ptr addrspace(11)
  %changed = alloca ptr addrspace(10)
  store volatile ptr addrspace(10) %list, ptr %changed
  %r = call i32 @tenon.except_enter()
  %c = icmp eq i32 %r, 0
  br i1 %c, label %try, label %catch
try:
  %n = call ptr addrspace(10) @make(i64 7, ptr addrspace(10) %list2)
  store volatile ptr addrspace(10) %n, ptr %changed
  call void @throw_if(i64 %i, i64 3)
  %m = call ptr addrspace(10) @make(i64 8, ptr addrspace(10) %n)
  store volatile ptr addrspace(10) %m, ptr %changed
  call void @deep(i64 3, i64 %i)
  unreachable
catch:
  call void @tenon_pop_handler(i32 1)
  %x = call ptr addrspace(10) @make(i64 9, ptr addrspace(10) %list2)
  %l = load volatile ptr addrspace(10), ptr %changed
  %s1 = call i64 @sum(ptr addrspace(10) %l)
  %s2 = call i64 @sum(ptr addrspace(10) %x)
  %v = load i64, ptr addrspace(11) %d
  %r64 = sext i32 %r to i64
  %t1 = add i64 %s1, %s2
  %t2 = add i64 %t1, %v
  %t3 = add i64 %t2, %r64
  ret i64 %t3
}

; Nested, in a loop: the inner handler throws again, or both end together.
define internal i64 @nested(i64 %i) noinline {
entry:
  %list = call ptr addrspace(10) @make(i64 %i, ptr addrspace(10) null)
  %total = alloca i64
  store volatile i64 0, ptr %total
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k1, %next ]
  %r = call i32 @tenon.except_enter()
  %c = icmp eq i32 %r, 0
  br i1 %c, label %outer, label %outer.catch
outer:
  %own = call ptr addrspace(10) @make(i64 %k, ptr addrspace(10) %list)
  %r2 = call i32 @tenon.except_enter()
  %c2 = icmp eq i32 %r2, 0
  br i1 %c2, label %inner, label %inner.catch
inner:
  %x = call ptr addrspace(10) @make(i64 1, ptr addrspace(10) %own)
  %ik = add i64 %i, %k
  call void @throw_if(i64 %ik, i64 4)
  %s = call i64 @sum(ptr addrspace(10) %x)
  %old = load volatile i64, ptr %total
  %new = add i64 %old, %s
  store volatile i64 %new, ptr %total
  call void @tenon_pop_handler(i32 2)
  br label %next
inner.catch:
  call void @tenon_pop_handler(i32 1)
  %y = call ptr addrspace(10) @make(i64 1000, ptr addrspace(10) %own)
  %s3 = call i64 @sum(ptr addrspace(10) %y)
  call void @throw_now(i64 %s3)
  unreachable
outer.catch:
  call void @tenon_pop_handler(i32 1)
  %z = call ptr addrspace(10) @make(i64 10, ptr addrspace(10) %list)
  %s4 = call i64 @sum(ptr addrspace(10) %z)
  %old2 = load volatile i64, ptr %total
  %r64 = sext i32 %r to i64
  %n1 = add i64 %old2, %s4
  %n2 = add i64 %n1, %r64
  store volatile i64 %n2, ptr %total
  br label %next
next:
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, 6
  br i1 %more, label %loop, label %done
done:
  %result = load volatile i64, ptr %total
  %s5 = call i64 @sum(ptr addrspace(10) %list)
  %sum = add i64 %result, %s5
  ret i64 %sum
}

define i64 @run(i64 %rounds) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  %t = phi i64 [ 0, %entry ], [ %t4, %loop ]
  %keep = phi ptr addrspace(10) [ null, %entry ], [ %keep1, %loop ]
  %keep1 = call ptr addrspace(10) @make(i64 %i, ptr addrspace(10) %keep)
  %a = call i64 @one(i64 %i)
  %b = call i64 @nested(i64 %i)
  %s = call i64 @sum(ptr addrspace(10) %keep1)
  %t1 = mul i64 %t, 3
  %t2 = add i64 %t1, %a
  %t3 = add i64 %t2, %b
  %t4a = add i64 %t3, %s
  %t4 = and i64 %t4a, 1073741823
  %i1 = add i64 %i, 1
  %c = icmp ult i64 %i1, %rounds
  br i1 %c, label %loop, label %done
done:
  ret i64 %t4
}
