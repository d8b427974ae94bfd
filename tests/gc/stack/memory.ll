; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; References in stack memory whose type says nothing of them. Each function returns sum(a) + sum(b): 45 + 190, or more as it says.

%node = type { ptr addrspace(10), i64 }
%triple = type { ptr addrspace(10), i64, ptr addrspace(10) }

declare void @churn()
declare i64 @sum(ptr addrspace(10))
declare ptr addrspace(10) @cons(i64, ptr addrspace(10))
declare void @make_triple(ptr sret(%triple), ptr addrspace(10), ptr addrspace(10))
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memcpy.p0.p11.i64(ptr, ptr addrspace(11), i64, i1)
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.lifetime.end.p0(ptr)
declare i32 @__gcc_personality_v0(...)

define internal i64 @sums(ptr %p, ptr %q) {
  %a = load ptr addrspace(10), ptr %p
  %b = load ptr addrspace(10), ptr %q
  %x = call i64 @sum(ptr addrspace(10) %a)
  %c = load ptr addrspace(10), ptr %q
  %y = call i64 @sum(ptr addrspace(10) %c)
  %s = add i64 %x, %y
  ret i64 %s
}

define i64 @words(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %m = alloca [3 x i64]
  %p = getelementptr i8, ptr %m, i64 8
  %q = getelementptr i8, ptr %m, i64 16
  store i64 140737488355320, ptr %m
  store ptr addrspace(10) %a, ptr %p
  store ptr addrspace(10) %b, ptr %q
  call void @churn()
  %c = load ptr addrspace(10), ptr %p
  %x = call i64 @sum(ptr addrspace(10) %c)
  call void @churn()
  %d = load ptr addrspace(10), ptr %q
  %y = call i64 @sum(ptr addrspace(10) %d)
  %z = load i64, ptr %m
  %s = add i64 %x, %y
  %t = add i64 %s, %z
  %u = sub i64 %t, 140737488355320
  ret i64 %u
}

define i64 @bytes(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %m = alloca [19 x i8], align 1
  %q = getelementptr i8, ptr %m, i64 8
  store ptr addrspace(10) %a, ptr %m
  store ptr addrspace(10) %b, ptr %q
  call void @churn()
  %s = call i64 @sums(ptr %m, ptr %q)
  ret i64 %s
}

define i64 @one_word(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %m = alloca i64
  store ptr addrspace(10) %a, ptr %m
  %y = call i64 @sum(ptr addrspace(10) %b)
  %c = load ptr addrspace(10), ptr %m
  %x = call i64 @sum(ptr addrspace(10) %c)
  %s = add i64 %x, %y
  ret i64 %s
}

define i64 @nested(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %m = alloca [5 x i64]
  %v = insertvalue { i64, [2 x %node] } zeroinitializer, ptr addrspace(10) %a, 1, 0, 0
  %w = insertvalue { i64, [2 x %node] } %v, ptr addrspace(10) %b, 1, 1, 0
  %n = insertvalue { i64, [2 x %node] } %w, i64 3, 0
  store { i64, [2 x %node] } %n, ptr %m
  call void @churn()
  %l = load { i64, [2 x %node] }, ptr %m
  call void @churn()
  %c = extractvalue { i64, [2 x %node] } %l, 1, 0, 0
  %x = call i64 @sum(ptr addrspace(10) %c)
  %d = extractvalue { i64, [2 x %node] } %l, 1, 1, 0
  %y = call i64 @sum(ptr addrspace(10) %d)
  %s = add i64 %x, %y
  ret i64 %s
}

define i64 @vector(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %m = alloca [32 x i8], align 16
  %v = insertelement <2 x ptr addrspace(10)> poison, ptr addrspace(10) %a, i64 0
  %w = insertelement <2 x ptr addrspace(10)> %v, ptr addrspace(10) %b, i64 1
  %p = getelementptr i8, ptr %m, i64 16
  store <2 x ptr addrspace(10)> %w, ptr %p
  call void @churn()
  %l = load <2 x ptr addrspace(10)>, ptr %p
  call void @churn()
  %c = extractelement <2 x ptr addrspace(10)> %l, i64 0
  %x = call i64 @sum(ptr addrspace(10) %c)
  %q = getelementptr i8, ptr %m, i64 24
  %d = load ptr addrspace(10), ptr %q
  %y = call i64 @sum(ptr addrspace(10) %d)
  %s = add i64 %x, %y
  ret i64 %s
}

define i64 @copied(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %m = alloca %triple
  %n = alloca [24 x i8]
  %o = alloca [2 x i64]
  %q = getelementptr i8, ptr %m, i64 16
  store ptr addrspace(10) %a, ptr %m
  store ptr addrspace(10) %b, ptr %q
  call void @llvm.memcpy.p0.p0.i64(ptr %n, ptr %m, i64 24, i1 false)
  call void @churn()
  %r = getelementptr i8, ptr %n, i64 8
  call void @llvm.memcpy.p0.p0.i64(ptr %o, ptr %r, i64 16, i1 false)
  call void @churn()
  %t = getelementptr i8, ptr %o, i64 8
  %s = call i64 @sums(ptr %n, ptr %t)
  %u = getelementptr i8, ptr %n, i64 16
  %v = call i64 @sums(ptr %m, ptr %u)
  %w = call i64 @sums(ptr %m, ptr %q)
  %x = add i64 %s, %v
  %y = add i64 %x, %w
  %z = sub i64 %y, 470
  ret i64 %z
}

define i64 @copied_as_words(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %m = alloca [2 x ptr addrspace(10)]
  %n = alloca [2 x i64]
  %o = alloca [2 x i64]
  %q = getelementptr i8, ptr %m, i64 8
  store ptr addrspace(10) %a, ptr %m
  store ptr addrspace(10) %b, ptr %q
  %w = load [2 x i64], ptr %m
  call void @churn()
  store [2 x i64] %w, ptr %n
  call void @churn()
  %v = load <2 x i64>, ptr %n
  call void @churn()
  store <2 x i64> %v, ptr %o
  call void @churn()
  %r = getelementptr i8, ptr %o, i64 8
  %s = call i64 @sums(ptr %o, ptr %r)
  %t = call i64 @sums(ptr %m, ptr %q)
  %u = getelementptr i8, ptr %n, i64 8
  %x = call i64 @sums(ptr %n, ptr %u)
  %y = add i64 %s, %t
  %z = add i64 %x, %y
  %a2 = sub i64 %z, 470
  ret i64 %a2
}

define i64 @copied_from_object(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %c = call ptr addrspace(10) @cons(i64 0, ptr addrspace(10) %a)
  %d = addrspacecast ptr addrspace(10) %c to ptr addrspace(11)
  %m = alloca [16 x i8]
  %n = alloca i64
  call void @llvm.memcpy.p0.p11.i64(ptr %m, ptr addrspace(11) %d, i64 16, i1 false)
  %w = load i64, ptr addrspace(11) %d
  call void @churn()
  store i64 %w, ptr %n
  call void @churn()
  %e = load ptr addrspace(10), ptr %m
  %x = call i64 @sum(ptr addrspace(10) %e)
  %f = load ptr addrspace(10), ptr %n
  %y = call i64 @sum(ptr addrspace(10) %f)
  %s = add i64 %x, %y
  %t = add i64 %s, 145
  ret i64 %t
}

define i64 @results(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %m = alloca [24 x i8], align 8
  call void @make_triple(ptr sret(%triple) %m, ptr addrspace(10) %a, ptr addrspace(10) %b)
  call void @churn()
  %q = getelementptr i8, ptr %m, i64 16
  %s = call i64 @sums(ptr %m, ptr %q)
  ret i64 %s
}

define i64 @results_elsewhere(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %m = alloca [5 x i64]
  %p = getelementptr i8, ptr %m, i64 8
  call void @make_triple(ptr sret(%triple) %p, ptr addrspace(10) %a, ptr addrspace(10) %b)
  call void @churn()
  %n = alloca [3 x i64]
  call void @llvm.memcpy.p0.p0.i64(ptr %n, ptr %p, i64 24, i1 false)
  call void @churn()
  %q = getelementptr i8, ptr %n, i64 16
  %s = call i64 @sums(ptr %p, ptr %q)
  %r = getelementptr i8, ptr %p, i64 16
  %t = call i64 @sums(ptr %n, ptr %r)
  %u = add i64 %s, %t
  %v = sub i64 %u, 235
  ret i64 %v
}

define i64 @selected(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %x = call i64 @sum(ptr addrspace(10) %a)
  %m = alloca i64
  %n = alloca [16 x i8]
  %c = icmp eq i64 %x, 45
  %o = getelementptr i8, ptr %n, i64 8
  %p = select i1 %c, ptr %m, ptr %o
  %q = select i1 %c, ptr %o, ptr %m
  store ptr addrspace(10) %a, ptr %p
  store ptr addrspace(10) %b, ptr %q
  call void @churn()
  %s = call i64 @sums(ptr %p, ptr %q)
  ret i64 %s
}

define i64 @merged(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %m = alloca i64
  %n = alloca i64
  %x = call i64 @sum(ptr addrspace(10) %a)
  %c = icmp eq i64 %x, 45
  br i1 %c, label %one, label %two
one:
  br label %join
two:
  br label %join
join:
  %p = phi ptr [ %m, %one ], [ %n, %two ]
  %q = phi ptr [ %n, %one ], [ %m, %two ]
  store ptr addrspace(10) %a, ptr %p
  store ptr addrspace(10) %b, ptr %q
  call void @churn()
  %s = call i64 @sums(ptr %p, ptr %q)
  ret i64 %s
}

define internal i64 @either(ptr addrspace(10) %a, ptr addrspace(10) %b, i1 %c) noinline {
  %m = alloca [2 x i64]
  %o = call ptr addrspace(10) @cons(i64 0, ptr addrspace(10) null)
  call void @churn()
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %n = getelementptr i8, ptr %m, i64 8
  %e = addrspacecast ptr %n to ptr addrspace(11)
  %p = select i1 %c, ptr addrspace(11) %d, ptr addrspace(11) %e
  %q = select i1 %c, ptr addrspace(11) %e, ptr addrspace(11) %d
  store ptr addrspace(10) %a, ptr addrspace(11) %p
  store ptr addrspace(10) %b, ptr addrspace(11) %q
  call void @churn()
  %f = load ptr addrspace(10), ptr addrspace(11) %p
  %y = call i64 @sum(ptr addrspace(10) %f)
  call void @churn()
  %g = load ptr addrspace(10), ptr addrspace(11) %q
  %z = call i64 @sum(ptr addrspace(10) %g)
  %s = add i64 %y, %z
  ret i64 %s
}

define i64 @stack_or_object(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %s = call i64 @either(ptr addrspace(10) %a, ptr addrspace(10) %b, i1 true)
  %t = call i64 @either(ptr addrspace(10) %b, ptr addrspace(10) %a, i1 false)
  %u = add i64 %s, %t
  %v = sub i64 %u, 235
  ret i64 %v
}

define i64 @any_element(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %x = call i64 @sum(ptr addrspace(10) %a)
  %m = alloca [8 x i64]
  %i = and i64 %x, 3
  %j = or i64 %i, 4
  %p = getelementptr i64, ptr %m, i64 %i
  %q = getelementptr i64, ptr %m, i64 %j
  store ptr addrspace(10) %a, ptr %p
  store ptr addrspace(10) %b, ptr %q
  call void @churn()
  %s = call i64 @sums(ptr %p, ptr %q)
  ret i64 %s
}

define i64 @each_element(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %m = alloca [8 x i64]
  %end = getelementptr i8, ptr %m, i64 64
  br label %fill
fill:
  %p = phi ptr [ %m, %0 ], [ %q, %fill ]
  %c = call ptr addrspace(10) @cons(i64 0, ptr addrspace(10) %a)
  store ptr addrspace(10) %c, ptr %p
  %q = getelementptr i8, ptr %p, i64 16
  %more = icmp ne ptr %q, %end
  br i1 %more, label %fill, label %next
next:
  call void @churn()
  br label %add
add:
  %r = phi ptr [ %m, %next ], [ %t, %add ]
  %s = phi i64 [ 0, %next ], [ %u, %add ]
  %d = load ptr addrspace(10), ptr %r
  %x = call i64 @sum(ptr addrspace(10) %d)
  %u = add i64 %s, %x
  %t = getelementptr i8, ptr %r, i64 16
  %again = icmp ne ptr %t, %end
  br i1 %again, label %add, label %done
done:
  %y = call i64 @sum(ptr addrspace(10) %b)
  %v = add i64 %u, %y
  %w = sub i64 %v, 135
  ret i64 %w
}

define i64 @array_of_structs(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %x = call i64 @sum(ptr addrspace(10) %a)
  %m = alloca %node, i32 4
  %i = and i64 %x, 1
  %j = add i64 %i, 1
  %p = getelementptr %node, ptr %m, i64 %i
  %q = getelementptr %node, ptr %m, i64 %j
  %n = getelementptr i8, ptr %p, i64 8
  store ptr addrspace(10) %a, ptr %p
  store i64 140737488289800, ptr %n
  store ptr addrspace(10) %b, ptr %q
  call void @churn()
  %s = call i64 @sums(ptr %p, ptr %q)
  ret i64 %s
}

define i64 @late(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %x = call i64 @sum(ptr addrspace(10) %a)
  %m = alloca i64
  store ptr addrspace(10) %a, ptr %m
  %c = icmp eq i64 %x, 45
  br i1 %c, label %more, label %done
more:
  %n = alloca [3 x i64]
  %q = getelementptr i8, ptr %n, i64 8
  store ptr addrspace(10) %b, ptr %q
  call void @churn()
  %s = call i64 @sums(ptr %m, ptr %q)
  ret i64 %s
done:
  ret i64 0
}

define i64 @counted(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %m = alloca i64, i32 3
  %q = getelementptr i8, ptr %m, i64 16
  store ptr addrspace(10) %a, ptr %m
  store ptr addrspace(10) %b, ptr %q
  call void @churn()
  %s = call i64 @sums(ptr %m, ptr %q)
  ret i64 %s
}

define i64 @through_memory(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %m = alloca [2 x i64]
  %at = alloca ptr
  store ptr %m, ptr %at
  %p = load ptr, ptr %at
  store ptr addrspace(10) %a, ptr %p
  %r = load ptr, ptr %at
  %q = getelementptr i8, ptr %r, i64 8
  store ptr addrspace(10) %b, ptr %q
  call void @churn()
  %t = load ptr, ptr %at
  %u = getelementptr i8, ptr %t, i64 8
  %s = call i64 @sums(ptr %t, ptr %u)
  ret i64 %s
}

define internal void @put(ptr %m, ptr addrspace(10) %a, ptr addrspace(10) %b) noinline {
  store ptr addrspace(10) %a, ptr %m
  %q = getelementptr i8, ptr %m, i64 8
  store ptr addrspace(10) %b, ptr %q
  call void @churn()
  ret void
}

define i64 @through_function(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %m = alloca [2 x i64]
  call void @put(ptr %m, ptr addrspace(10) %a, ptr addrspace(10) %b)
  call void @churn()
  %q = getelementptr i8, ptr %m, i64 8
  %s = call i64 @sums(ptr %m, ptr %q)
  ret i64 %s
}

define i64 @lifetimes(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %m = alloca [4 x i64]
  %n = alloca [4 x i64]
  call void @llvm.lifetime.start.p0(ptr %m)
  store ptr addrspace(10) %a, ptr %m
  call void @churn()
  %c = load ptr addrspace(10), ptr %m
  %x = call i64 @sum(ptr addrspace(10) %c)
  call void @llvm.lifetime.end.p0(ptr %m)
  call void @llvm.lifetime.start.p0(ptr %n)
  store i64 140737488289800, ptr %n
  %q = getelementptr i8, ptr %n, i64 8
  store ptr addrspace(10) %b, ptr %q
  call void @churn()
  %d = load ptr addrspace(10), ptr %q
  %y = call i64 @sum(ptr addrspace(10) %d)
  call void @llvm.lifetime.end.p0(ptr %n)
  %s = add i64 %x, %y
  ret i64 %s
}

define i64 @unwound(ptr addrspace(10) %a, ptr addrspace(10) %b) personality ptr @__gcc_personality_v0 {
  %m = alloca [2 x i64]
  %q = getelementptr i8, ptr %m, i64 8
  store ptr addrspace(10) %a, ptr %m
  store ptr addrspace(10) %b, ptr %q
  invoke void @churn() to label %good unwind label %bad
good:
  %s = call i64 @sums(ptr %m, ptr %q)
  ret i64 %s
bad:
  %l = landingpad { ptr, i32 } cleanup
  %t = call i64 @sums(ptr %q, ptr %q)
  resume { ptr, i32 } %l
}

define internal i64 @takes(ptr byval([3 x i64]) align 8 %m) noinline {
  call void @churn()
  %q = getelementptr i8, ptr %m, i64 16
  %s = call i64 @sums(ptr %m, ptr %q)
  %a = load ptr addrspace(10), ptr %m
  %c = call ptr addrspace(10) @cons(i64 0, ptr addrspace(10) %a)
  store ptr addrspace(10) %c, ptr %m
  call void @churn()
  %n = getelementptr i8, ptr %m, i64 8
  %x = load i64, ptr %n
  %t = call i64 @sums(ptr %m, ptr %q)
  %u = sub i64 %t, %s
  %v = add i64 %u, %x
  ret i64 %v
}

define i64 @argument(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %m = alloca %triple
  %n = getelementptr i8, ptr %m, i64 8
  %q = getelementptr i8, ptr %m, i64 16
  store ptr addrspace(10) %a, ptr %m
  store i64 235, ptr %n
  store ptr addrspace(10) %b, ptr %q
  %s = call i64 @takes(ptr byval(%triple) align 8 %m)
  %t = call i64 @sums(ptr %m, ptr %q)
  %u = add i64 %s, %t
  %v = sub i64 %u, 235
  ret i64 %v
}

; More than fits into registers: after the call everything moves.
%four = type { ptr addrspace(10), i64, ptr addrspace(10), i64, ptr addrspace(10) }
define internal %four @four(ptr addrspace(10) %a, ptr addrspace(10) %b) noinline {
  %v = insertvalue %four { ptr addrspace(10) null, i64 1, ptr addrspace(10) null, i64 2, ptr addrspace(10) null }, ptr addrspace(10) %a, 0
  %w = insertvalue %four %v, ptr addrspace(10) %a, 2
  %x = insertvalue %four %w, ptr addrspace(10) %b, 4
  ret %four %x
}

@four_anywhere = internal global ptr @four

define i64 @returned(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %f = load volatile ptr, ptr @four_anywhere
  %v = call %four %f(ptr addrspace(10) %a, ptr addrspace(10) %b)
  %m = alloca %four
  store %four %v, ptr %m
  call void @churn()
  %p = getelementptr i8, ptr %m, i64 16
  %q = getelementptr i8, ptr %m, i64 32
  %s = call i64 @sums(ptr %m, ptr %q)
  %t = call i64 @sums(ptr %p, ptr %q)
  %u = add i64 %s, %t
  %w = sub i64 %u, 235
  ret i64 %w
}

define internal i64 @inner(ptr addrspace(10) %a, ptr addrspace(10) %b) alwaysinline {
  %m = alloca [16 x i8]
  %q = getelementptr i8, ptr %m, i64 8
  store ptr addrspace(10) %a, ptr %m
  store ptr addrspace(10) %b, ptr %q
  call void @churn()
  %s = call i64 @sums(ptr %m, ptr %q)
  ret i64 %s
}

define i64 @inlined(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %m = alloca i64
  store ptr addrspace(10) %b, ptr %m
  %s = call i64 @inner(ptr addrspace(10) %a, ptr addrspace(10) %b)
  %t = call i64 @inner(ptr addrspace(10) %a, ptr addrspace(10) %b)
  %u = add i64 %s, %t
  %b2 = load ptr addrspace(10), ptr %m
  %v = call i64 @sum(ptr addrspace(10) %b2)
  %w = add i64 %v, 45
  %x = sub i64 %u, %w
  ret i64 %x
}

; Numbers that look like references stay what they are, next to those, and so does memory that is only copied.
define i64 @neither(ptr addrspace(10) %a, ptr addrspace(10) %b) {
  %m = alloca [4 x i64]
  %n = alloca [4 x i64]
  %p = getelementptr i8, ptr %m, i64 8
  %q = getelementptr i8, ptr %m, i64 24
  store i64 140737488289800, ptr %m
  store ptr addrspace(10) %a, ptr %p
  store ptr addrspace(10) %b, ptr %q
  call void @churn()
  call void @llvm.memcpy.p0.p0.i64(ptr %n, ptr %m, i64 32, i1 false)
  call void @churn()
  %w = load i64, ptr %n
  %bad = sub i64 %w, 140737488289800
  %r = getelementptr i8, ptr %n, i64 8
  %t = getelementptr i8, ptr %n, i64 24
  %s = call i64 @sums(ptr %r, ptr %t)
  %u = add i64 %s, %bad
  ret i64 %u
}
