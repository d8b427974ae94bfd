; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; A raw address behind a safepoint needs a preserved object.

; RUN: not %tenon verify - <%s 2>%t.err
; RUN: FileCheck %s --input-file=%t.err --implicit-check-not=error:
; RUN: %tenon verify --weak %s

declare ptr @julia.pointer_from_objref(ptr addrspace(11))
declare token @llvm.julia.gc_preserve_begin(...)
declare void @llvm.julia.gc_preserve_end(token)
declare void @native()
declare void @leaf() "gc-leaf-function"

; CHECK: error: in function 'stale': %raw = {{.*}} [unpinned]
define i64 @stale(ptr addrspace(10) %o) {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  call void @native()
  %v = load i64, ptr %raw
  ret i64 %v
}

; CHECK: error: in function 'stale_in_loop': %raw = {{.*}} [unpinned]
define void @stale_in_loop(ptr addrspace(10) %o, i1 %c) {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  br label %loop
loop:
  store i64 1, ptr %raw
  call void @native()
  br i1 %c, label %loop, label %done
done:
  ret void
}

define i64 @used_before(ptr addrspace(10) %o) {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  call void @leaf()
  %v = load i64, ptr %raw
  call void @native()
  ret i64 %v
}

define i64 @pinned(ptr addrspace(10) %o) {
  %p = call token (...) @llvm.julia.gc_preserve_begin(ptr addrspace(10) %o)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  call void @native()
  %v = load i64, ptr %raw
  call void @llvm.julia.gc_preserve_end(token %p)
  ret i64 %v
}

declare { i64, ptr addrspace(10) } @two()
declare ptr @tn_pin_object(ptr addrspace(10))
declare ptr addrspace(13) @julia.gc_loaded(ptr addrspace(10), ptr)

; A struct, array or vector is preserved with everything in it.
define i64 @pinned_by_struct(ptr addrspace(10) %o) {
  %s = insertvalue { i64, ptr addrspace(10) } zeroinitializer, ptr addrspace(10) %o, 1
  %p = call token (...) @llvm.julia.gc_preserve_begin({ i64, ptr addrspace(10) } %s)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  call void @native()
  %v = load i64, ptr %raw
  call void @llvm.julia.gc_preserve_end(token %p)
  ret i64 %v
}

define i64 @pinned_with_struct() {
  %s = call { i64, ptr addrspace(10) } @two()
  %p = call token (...) @llvm.julia.gc_preserve_begin({ i64, ptr addrspace(10) } %s)
  %o = extractvalue { i64, ptr addrspace(10) } %s, 1
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  call void @native()
  %v = load i64, ptr %raw
  call void @llvm.julia.gc_preserve_end(token %p)
  ret i64 %v
}

define i64 @pinned_by_vector(ptr addrspace(10) %o, <2 x ptr addrspace(10)> %w) {
  %v0 = insertelement <2 x ptr addrspace(10)> poison, ptr addrspace(10) %o, i32 0
  %v1 = shufflevector <2 x ptr addrspace(10)> %v0, <2 x ptr addrspace(10)> %w, <4 x i32> <i32 0, i32 2, i32 3, i32 0>
  %p = call token (...) @llvm.julia.gc_preserve_begin(<4 x ptr addrspace(10)> %v1)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  call void @native()
  %v = load i64, ptr %raw
  ret i64 %v
}

define i64 @pinned_in_memory(ptr addrspace(10) %o) {
  %s = alloca { i64, ptr addrspace(10) }
  %f = getelementptr { i64, ptr addrspace(10) }, ptr %s, i32 0, i32 1
  store ptr addrspace(10) %o, ptr %f
  %whole = load { i64, ptr addrspace(10) }, ptr %s
  %p = call token (...) @llvm.julia.gc_preserve_begin({ i64, ptr addrspace(10) } %whole)
  %l = load ptr addrspace(10), ptr %f
  %d = addrspacecast ptr addrspace(10) %l to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  call void @native()
  %v = load i64, ptr %raw
  ret i64 %v
}

; Whichever of two objects it is, it is preserved.
define i64 @pinned_either(ptr addrspace(10) %a, ptr addrspace(10) %b, i1 %c) {
  %p = call token (...) @llvm.julia.gc_preserve_begin(ptr addrspace(10) %a)
  %q = call token (...) @llvm.julia.gc_preserve_begin(ptr addrspace(10) %b)
  %o = select i1 %c, ptr addrspace(10) %a, ptr addrspace(10) %b
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  call void @native()
  %v = load i64, ptr %raw
  ret i64 %v
}

; CHECK: error: in function 'pinned_one': %raw = {{.*}} [unpinned]
define i64 @pinned_one(ptr addrspace(10) %a, ptr addrspace(10) %b, i1 %c) {
  %p = call token (...) @llvm.julia.gc_preserve_begin(ptr addrspace(10) %a)
  %o = select i1 %c, ptr addrspace(10) %a, ptr addrspace(10) %b
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  call void @native()
  %v = load i64, ptr %raw
  ret i64 %v
}

; "jl_roots" pin during their own call, no longer.
define i64 @rooted(ptr addrspace(10) %o) {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  %s = insertvalue { i64, ptr addrspace(10) } zeroinitializer, ptr addrspace(10) %o, 1
  call void @native() [ "jl_roots"({ i64, ptr addrspace(10) } %s) ]
  %v = load i64, ptr %raw
  ret i64 %v
}

; CHECK: error: in function 'rooted_once': %raw = {{.*}} [unpinned]
define i64 @rooted_once(ptr addrspace(10) %o) {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  call void @native() [ "jl_roots"(ptr addrspace(10) %o) ]
  call void @native()
  %v = load i64, ptr %raw
  ret i64 %v
}

; So does a region.
; CHECK: error: in function 'late': %raw = {{.*}} [unpinned]
define i64 @late(ptr addrspace(10) %o) {
  %p = call token (...) @llvm.julia.gc_preserve_begin(ptr addrspace(10) %o)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  call void @llvm.julia.gc_preserve_end(token %p)
  call void @native()
  %v = load i64, ptr %raw
  ret i64 %v
}

define i64 @pinned_by_runtime(ptr addrspace(10) %o) {
  %pin = call ptr @tn_pin_object(ptr addrspace(10) %o)
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  call void @native()
  %v = load i64, ptr %raw
  ret i64 %v
}

; What is computed from the address is as stale as the address.
; CHECK: error: in function 'field': %raw = {{.*}} [unpinned]
define i64 @field(ptr addrspace(10) %o) {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  %f = getelementptr i64, ptr %raw, i64 1
  call void @native()
  %v = load i64, ptr %f
  ret i64 %v
}

; Loaded pointers keep their object themselves.
define i64 @loaded(ptr addrspace(10) %o) {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  %f = getelementptr i64, ptr %raw, i64 1
  %l = call ptr addrspace(13) @julia.gc_loaded(ptr addrspace(10) %o, ptr %f)
  call void @native()
  %v = load i64, ptr addrspace(13) %l
  ret i64 %v
}

; A phi takes the address at the end of the block that it comes from: here, where no safepoint was passed.
define i64 @edges(ptr addrspace(10) %o, ptr %p, i1 %c) {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  br i1 %c, label %call, label %join
call:
  call void @native()
  br label %join
join:
  %either = phi ptr [ %raw, %0 ], [ %p, %call ]
  %v = load i64, ptr %either
  ret i64 %v
}

; CHECK: error: in function 'edge': %raw = {{.*}} [unpinned]
define i64 @edge(ptr addrspace(10) %o, ptr %p, i1 %c) {
  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %raw = call ptr @julia.pointer_from_objref(ptr addrspace(11) %d)
  br i1 %c, label %call, label %join
call:
  call void @native()
  br label %join
join:
  %either = phi ptr [ %p, %0 ], [ %raw, %call ]
  %v = load i64, ptr %either
  ret i64 %v
}
