; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; The functions that values.c calls. `stays` compares an object's address with the one that `note` has noted; a `watch` is a weak reference to an
; object that nothing else in the function refers to.

%pair = type { i64, ptr addrspace(10) }

@noted = internal global i64 0
@tn_weak_type = external constant i8
@some = global [2 x i64] zeroinitializer

declare void @collect()
declare ptr addrspace(10) @new_box(i64)
declare ptr @julia.pointer_from_objref(ptr addrspace(11))
declare ptr addrspace(10) @julia.gc_alloc_obj(ptr, i64, ptr addrspace(10))
declare token @llvm.julia.gc_preserve_begin(...)
declare void @llvm.julia.gc_preserve_end(token)

define internal void @note(ptr addrspace(10) %o) alwaysinline {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  %n = ptrtoint ptr %raw to i64
  store volatile i64 %n, ptr @noted
  ret void
}

define internal i1 @stays(ptr addrspace(10) %o) alwaysinline {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  %n = ptrtoint ptr %raw to i64
  %before = load volatile i64, ptr @noted
  %same = icmp eq i64 %n, %before
  ret i1 %same
}

; Whether what is watched stays, and its number is what is expected.
define internal i64 @lives(ptr addrspace(10) %w, i64 %number, i64 %expected) noinline {
  %a = call i64 @alive(ptr addrspace(10) %w)
  %b = icmp eq i64 %number, %expected
  %c = zext i1 %b to i64
  %d = and i64 %a, %c
  ret i64 %d
}

; The same of an object itself.
define internal i64 @both(ptr addrspace(10) %o, i64 %number, i64 %expected) alwaysinline {
  %a = call i1 @stays(ptr addrspace(10) %o)
  %b = icmp eq i64 %number, %expected
  %c = and i1 %a, %b
  %d = zext i1 %c to i64
  ret i64 %d
}

define internal i64 @stayed(ptr addrspace(10) %o) alwaysinline {
  %r = call i64 @both(ptr addrspace(10) %o, i64 1, i64 1)
  ret i64 %r
}

define internal ptr addrspace(10) @watch(ptr addrspace(10) %o) noinline {
  %w = call ptr addrspace(10) @julia.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) addrspacecast (ptr @tn_weak_type to ptr addrspace(10)))
  store ptr addrspace(10) %o, ptr addrspace(10) %w
  ret ptr addrspace(10) %w
}

; Whether its target is alive, and where it was.
define internal i64 @alive(ptr addrspace(10) %w) noinline {
  %o = load ptr addrspace(10), ptr addrspace(10) %w
  %c = icmp ne ptr addrspace(10) %o, null
  %s = call i1 @stays(ptr addrspace(10) %o)
  %b = and i1 %c, %s
  %d = zext i1 %b to i64
  ret i64 %d
}

; ---- preserved, rooted ----

define i64 @preserved_struct(ptr addrspace(10) %o) {
  call void @note(ptr addrspace(10) %o)
  %s = insertvalue %pair zeroinitializer, ptr addrspace(10) %o, 1
  %t = call token (...) @llvm.julia.gc_preserve_begin(%pair %s)
  call void @collect()
  %r = call i64 @stayed(ptr addrspace(10) %o)
  call void @llvm.julia.gc_preserve_end(token %t)
  ret i64 %r
}

define i64 @preserved_array(ptr addrspace(10) %o) {
  call void @note(ptr addrspace(10) %o)
  %p = insertvalue %pair zeroinitializer, ptr addrspace(10) %o, 1
  %s = insertvalue [2 x %pair] zeroinitializer, %pair %p, 1
  %t = call token (...) @llvm.julia.gc_preserve_begin([2 x %pair] %s)
  call void @collect()
  %r = call i64 @stayed(ptr addrspace(10) %o)
  call void @llvm.julia.gc_preserve_end(token %t)
  ret i64 %r
}

define i64 @preserved_vector(ptr addrspace(10) %o) {
  call void @note(ptr addrspace(10) %o)
  %v = insertelement <2 x ptr addrspace(10)> zeroinitializer, ptr addrspace(10) %o, i32 1
  %w = shufflevector <2 x ptr addrspace(10)> %v, <2 x ptr addrspace(10)> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 0>
  %t = call token (...) @llvm.julia.gc_preserve_begin(<4 x ptr addrspace(10)> %w)
  call void @collect()
  %r = call i64 @stayed(ptr addrspace(10) %o)
  call void @llvm.julia.gc_preserve_end(token %t)
  ret i64 %r
}

define i64 @preserved_phi(ptr addrspace(10) %o) {
  %w = call ptr addrspace(10) @watch(ptr addrspace(10) %o)
  call void @note(ptr addrspace(10) %o)
  %s = insertvalue %pair zeroinitializer, ptr addrspace(10) %o, 1
  %n = load volatile i64, ptr @noted
  %c = icmp eq i64 %n, 0
  br i1 %c, label %other, label %join
other:
  br label %join
join:
  %either = phi %pair [ %s, %0 ], [ zeroinitializer, %other ]
  %t = call token (...) @llvm.julia.gc_preserve_begin(%pair %either)
  call void @collect()
  %r = call i64 @alive(ptr addrspace(10) %w)
  call void @llvm.julia.gc_preserve_end(token %t)
  ret i64 %r
}

define i64 @rooted_struct(ptr addrspace(10) %o) {
  call void @note(ptr addrspace(10) %o)
  %s = insertvalue %pair zeroinitializer, ptr addrspace(10) %o, 1
  call void @collect() [ "jl_roots"(%pair %s) ]
  %r = call i64 @stayed(ptr addrspace(10) %o)
  ret i64 %r
}

define i64 @rooted_vector(ptr addrspace(10) %o) {
  call void @note(ptr addrspace(10) %o)
  %v = insertelement <2 x ptr addrspace(10)> zeroinitializer, ptr addrspace(10) %o, i32 1
  call void @collect() [ "jl_roots"(<2 x ptr addrspace(10)> %v) ]
  %r = call i64 @stayed(ptr addrspace(10) %o)
  ret i64 %r
}

; A derived pointer is good for the whole call that gets it.
define internal i64 @use(<2 x ptr addrspace(11)> %v) noinline {
  call void @collect()
  %p = extractelement <2 x ptr addrspace(11)> %v, i32 1
  %m = load ptr, ptr addrspace(11) %p
  %n = load i64, ptr %m
  ret i64 %n
}

define i64 @passed_vector(ptr addrspace(10) %o) {
  call void @note(ptr addrspace(10) %o)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %v = insertelement <2 x ptr addrspace(11)> zeroinitializer, ptr addrspace(11) %d, i32 1
  %n = call i64 @use(<2 x ptr addrspace(11)> %v)
  %r = call i64 @both(ptr addrspace(10) %o, i64 %n, i64 42)
  ret i64 %r
}

; ---- loaded ----

define i64 @loaded_plain(ptr addrspace(10) %o) {
  call void @note(ptr addrspace(10) %o)
  %l = load ptr addrspace(13), ptr addrspace(10) %o
  call void @collect()
  %n = load i64, ptr addrspace(13) %l
  %r = call i64 @both(ptr addrspace(10) %o, i64 %n, i64 42)
  ret i64 %r
}

define i64 @loaded_twice(ptr addrspace(10) %o) {
  call void @note(ptr addrspace(10) %o)
  %l = load ptr addrspace(13), ptr addrspace(10) %o
  %f = getelementptr i64, ptr addrspace(13) %l, i64 1
  %m = load ptr addrspace(13), ptr addrspace(13) %f
  call void @collect()
  %n = load i64, ptr addrspace(13) %m
  %r = call i64 @both(ptr addrspace(10) %o, i64 %n, i64 43)
  ret i64 %r
}

define i64 @loaded_inside(ptr addrspace(10) %o) {
  call void @note(ptr addrspace(10) %o)
  %z = load volatile i64, ptr @some
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %p = getelementptr i64, ptr addrspace(11) %d, i64 %z
  %l = load ptr addrspace(13), ptr addrspace(11) %p
  %f = freeze ptr addrspace(13) %l
  call void @collect()
  %n = load i64, ptr addrspace(13) %f
  %r = call i64 @both(ptr addrspace(10) %o, i64 %n, i64 42)
  ret i64 %r
}

define i64 @loaded_select(ptr addrspace(10) %o) {
  %w = call ptr addrspace(10) @watch(ptr addrspace(10) %o)
  call void @note(ptr addrspace(10) %o)
  %z = load volatile i64, ptr @some
  %c = icmp eq i64 %z, 0
  %l = load ptr addrspace(13), ptr addrspace(10) %o
  %s = select i1 %c, ptr addrspace(13) %l, ptr addrspace(13) addrspacecast (ptr @some to ptr addrspace(13))
  call void @collect()
  %n = load i64, ptr addrspace(13) %s
  %r = call i64 @lives(ptr addrspace(10) %w, i64 %n, i64 42)
  ret i64 %r
}

define i64 @loaded_phi(ptr addrspace(10) %o) {
  %w = call ptr addrspace(10) @watch(ptr addrspace(10) %o)
  call void @note(ptr addrspace(10) %o)
  %z = load volatile i64, ptr @some
  %c = icmp eq i64 %z, 0
  br i1 %c, label %load, label %join
load:
  %l = load ptr addrspace(13), ptr addrspace(10) %o
  br label %join
join:
  %s = phi ptr addrspace(13) [ %l, %load ], [ addrspacecast (ptr @some to ptr addrspace(13)), %0 ]
  call void @collect()
  %n = load i64, ptr addrspace(13) %s
  %r = call i64 @lives(ptr addrspace(10) %w, i64 %n, i64 42)
  ret i64 %r
}

define i64 @loaded_loop(ptr addrspace(10) %o) {
  call void @note(ptr addrspace(10) %o)
  %l = load ptr addrspace(13), ptr addrspace(10) %o
  br label %loop
loop:
  %s = phi ptr addrspace(13) [ %l, %0 ], [ %next, %loop ]
  %i = phi i64 [ 0, %0 ], [ %j, %loop ]
  call void @collect()
  %f = getelementptr i64, ptr addrspace(13) %s, i64 1
  %next = load volatile ptr addrspace(13), ptr addrspace(13) %f
  %n = load i64, ptr addrspace(13) %s
  %j = add i64 %i, %n
  %c = icmp eq i64 %i, 0
  br i1 %c, label %loop, label %done
done:
  %r = call i64 @both(ptr addrspace(10) %o, i64 %j, i64 85)
  ret i64 %r
}

define i64 @loaded_vector(ptr addrspace(10) %o) {
  call void @note(ptr addrspace(10) %o)
  %l = load <2 x ptr addrspace(13)>, ptr addrspace(10) %o, align 8
  call void @collect()
  %e = extractelement <2 x ptr addrspace(13)> %l, i64 0
  %n = load i64, ptr addrspace(13) %e
  %r = call i64 @both(ptr addrspace(10) %o, i64 %n, i64 42)
  ret i64 %r
}

define i64 @loaded_struct(ptr addrspace(10) %o) {
  call void @note(ptr addrspace(10) %o)
  %l = load { [1 x ptr addrspace(13)], i64 }, ptr addrspace(10) %o
  call void @collect()
  %e = extractvalue { [1 x ptr addrspace(13)], i64 } %l, 0, 0
  %n = load i64, ptr addrspace(13) %e
  %r = call i64 @both(ptr addrspace(10) %o, i64 %n, i64 42)
  ret i64 %r
}

; The object owns the element that is not loaded from the other one.
define i64 @loaded_masked(ptr addrspace(10) %o) {
  %other = call ptr addrspace(10) @new_box(i64 1)
  %w = call ptr addrspace(10) @watch(ptr addrspace(10) %o)
  call void @note(ptr addrspace(10) %o)
  %z = load volatile <2 x i64>, ptr @some
  %mask = icmp ne <2 x i64> %z, <i64 0, i64 1>
  %k = load <2 x ptr addrspace(13)>, ptr addrspace(10) %o, align 8
  %l = call <2 x ptr addrspace(13)> @llvm.masked.load.v2p13.p10(ptr addrspace(10) align 8 %other, <2 x i1> %mask, <2 x ptr addrspace(13)> %k)
  %f = extractelement <2 x ptr addrspace(13)> %l, i64 1
  %null = icmp eq ptr addrspace(13) %f, null
  %one = zext i1 %null to i64
  call void @collect()
  %e = extractelement <2 x ptr addrspace(13)> %l, i64 0
  %m = load i64, ptr addrspace(13) %e
  %n = add i64 %m, %one
  %r = call i64 @lives(ptr addrspace(10) %w, i64 %n, i64 43)
  ret i64 %r
}

define i64 @loaded_gather(ptr addrspace(10) %o) {
  %other = call ptr addrspace(10) @new_box(i64 1)
  %w = call ptr addrspace(10) @watch(ptr addrspace(10) %o)
  call void @note(ptr addrspace(10) %o)
  %z = load volatile <2 x i64>, ptr @some
  %mask = icmp eq <2 x i64> %z, zeroinitializer
  %a = insertelement <2 x ptr addrspace(10)> poison, ptr addrspace(10) %other, i32 0
  %b = insertelement <2 x ptr addrspace(10)> %a, ptr addrspace(10) %o, i32 1
  %d = addrspacecast <2 x ptr addrspace(10)> %b to <2 x ptr addrspace(11)>
  %l = call <2 x ptr addrspace(13)> @llvm.masked.gather.v2p13.v2p11(<2 x ptr addrspace(11)> align 8 %d, <2 x i1> %mask, <2 x ptr addrspace(13)> zeroinitializer)
  call void @collect()
  %e = extractelement <2 x ptr addrspace(13)> %l, i64 1
  %n = load i64, ptr addrspace(13) %e
  %r = call i64 @lives(ptr addrspace(10) %w, i64 %n, i64 42)
  ret i64 %r
}

define internal i64 @use_loaded({ i64, ptr addrspace(13) } %s, ptr addrspace(13) %l) noinline {
  call void @collect()
  %e = extractvalue { i64, ptr addrspace(13) } %s, 1
  %m = load i64, ptr addrspace(13) %e
  %n = load i64, ptr addrspace(13) %l
  %sum = add i64 %m, %n
  ret i64 %sum
}

define i64 @loaded_passed(ptr addrspace(10) %o) {
  call void @note(ptr addrspace(10) %o)
  %l = load ptr addrspace(13), ptr addrspace(10) %o
  %s = insertvalue { i64, ptr addrspace(13) } zeroinitializer, ptr addrspace(13) %l, 1
  %n = call i64 @use_loaded({ i64, ptr addrspace(13) } %s, ptr addrspace(13) addrspacecast (ptr @some to ptr addrspace(13)))
  %r = call i64 @both(ptr addrspace(10) %o, i64 %n, i64 42)
  ret i64 %r
}

; ---- alive ----

define i64 @kept_preserved() {
  %o = call ptr addrspace(10) @new_box(i64 42)
  %w = call ptr addrspace(10) @watch(ptr addrspace(10) %o)
  call void @note(ptr addrspace(10) %o)
  %s = insertvalue %pair zeroinitializer, ptr addrspace(10) %o, 1
  %t = call token (...) @llvm.julia.gc_preserve_begin(%pair %s)
  call void @collect()
  %r = call i64 @alive(ptr addrspace(10) %w)
  call void @llvm.julia.gc_preserve_end(token %t)
  ret i64 %r
}

define internal i64 @alive_after(ptr addrspace(10) %w) noinline {
  call void @collect()
  %r = call i64 @alive(ptr addrspace(10) %w)
  ret i64 %r
}

define i64 @kept_rooted() {
  %o = call ptr addrspace(10) @new_box(i64 42)
  %w = call ptr addrspace(10) @watch(ptr addrspace(10) %o)
  call void @note(ptr addrspace(10) %o)
  %v = insertelement <2 x ptr addrspace(10)> zeroinitializer, ptr addrspace(10) %o, i32 1
  %r = call i64 @alive_after(ptr addrspace(10) %w) [ "jl_roots"(<2 x ptr addrspace(10)> %v) ]
  ret i64 %r
}

define i64 @kept_loaded() {
  %o = call ptr addrspace(10) @new_box(i64 42)
  %w = call ptr addrspace(10) @watch(ptr addrspace(10) %o)
  call void @note(ptr addrspace(10) %o)
  %l = load ptr addrspace(13), ptr addrspace(10) %o
  call void @collect()
  %a = call i64 @alive(ptr addrspace(10) %w)
  %n = load volatile i64, ptr addrspace(13) %l
  ret i64 %a
}

define i64 @kept_masked() {
  %o = call ptr addrspace(10) @new_box(i64 42)
  %w = call ptr addrspace(10) @watch(ptr addrspace(10) %o)
  call void @note(ptr addrspace(10) %o)
  %z = load volatile <2 x i64>, ptr @some
  %mask = icmp eq <2 x i64> %z, zeroinitializer
  %l = call <2 x ptr addrspace(13)> @llvm.masked.load.v2p13.p10(ptr addrspace(10) align 8 %o, <2 x i1> %mask, <2 x ptr addrspace(13)> poison)
  call void @collect()
  %a = call i64 @alive(ptr addrspace(10) %w)
  %e = extractelement <2 x ptr addrspace(13)> %l, i64 0
  %n = load volatile i64, ptr addrspace(13) %e
  ret i64 %a
}
