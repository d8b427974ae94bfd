; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Variables in stack memory that safepoints find before anything is stored there: they have to be null by then. Each function returns the
; value of its list, or twice that. It is no address: whatever takes it for a header fails.

declare ptr addrspace(10) @cons(i64, ptr addrspace(10))

define internal i64 @value(ptr addrspace(10) %list) noinline {
  %d = addrspacecast ptr addrspace(10) %list to ptr addrspace(11)
  %at = getelementptr i64, ptr addrspace(11) %d, i64 1
  %value = load i64, ptr addrspace(11) %at
  ret i64 %value
}

define i64 @one(ptr addrspace(10) %list) {
  %v = alloca i64
  call ptr addrspace(10) @cons(i64 1, ptr addrspace(10) null)
  store ptr addrspace(10) %list, ptr %v
  call ptr addrspace(10) @cons(i64 1, ptr addrspace(10) null)
  %o = load ptr addrspace(10), ptr %v
  %n = call i64 @value(ptr addrspace(10) %o)
  ret i64 %n
}

define i64 @words(ptr addrspace(10) %list) {
  %v = alloca [3 x i64]
  %second = getelementptr i64, ptr %v, i64 1
  %third = getelementptr i64, ptr %v, i64 2
  call ptr addrspace(10) @cons(i64 1, ptr addrspace(10) null)
  store i64 1, ptr %v
  store ptr addrspace(10) %list, ptr %second
  call ptr addrspace(10) @cons(i64 1, ptr addrspace(10) null)
  %o = load ptr addrspace(10), ptr %second
  store ptr addrspace(10) %o, ptr %third
  call ptr addrspace(10) @cons(i64 1, ptr addrspace(10) null)
  %p = load ptr addrspace(10), ptr %third
  %n = call i64 @value(ptr addrspace(10) %p)
  ret i64 %n
}

; A variable that holds a number as well.
define i64 @part(ptr addrspace(10) %list) {
  %v = alloca { i64, ptr addrspace(10) }
  %at = getelementptr i64, ptr %v, i64 1
  %new = call ptr addrspace(10) @cons(i64 9128161957192253152, ptr addrspace(10) %list)
  store { i64, ptr addrspace(10) } zeroinitializer, ptr %v
  store ptr addrspace(10) %new, ptr %at
  call ptr addrspace(10) @cons(i64 1, ptr addrspace(10) null)
  %o = load ptr addrspace(10), ptr %at
  %n = call i64 @value(ptr addrspace(10) %o)
  ret i64 %n
}

; The variable is made after a safepoint, and on one way only.
define i64 @later(ptr addrspace(10) %list) {
  %new = call ptr addrspace(10) @cons(i64 9128161957192253152, ptr addrspace(10) %list)
  %n = call i64 @value(ptr addrspace(10) %new)
  %is = icmp eq i64 %n, 9128161957192253152
  br i1 %is, label %then, label %done
then:
  %v = alloca [2 x i64]
  %second = getelementptr i64, ptr %v, i64 1
  %newer = call ptr addrspace(10) @cons(i64 9128161957192253152, ptr addrspace(10) null)
  store ptr addrspace(10) %newer, ptr %second
  call ptr addrspace(10) @cons(i64 1, ptr addrspace(10) null)
  %o = load ptr addrspace(10), ptr %second
  %m = call i64 @value(ptr addrspace(10) %o)
  br label %done
done:
  %r = phi i64 [%n, %0], [%m, %then]
  ret i64 %r
}

define internal void @make(ptr sret({ ptr addrspace(10), ptr addrspace(10) }) %to, ptr addrspace(10) %list) noinline {
  %new = call ptr addrspace(10) @cons(i64 9128161957192253152, ptr addrspace(10) %list)
  %second = getelementptr i64, ptr %to, i64 1
  store ptr addrspace(10) %new, ptr %to
  %newer = call ptr addrspace(10) @cons(i64 9128161957192253152, ptr addrspace(10) %new)
  store ptr addrspace(10) %newer, ptr %second
  ret void
}

; Memory for a result, which the callee fills in two steps.
define i64 @result(ptr addrspace(10) %list) {
  %v = alloca [16 x i8], align 8
  call ptr addrspace(10) @cons(i64 1, ptr addrspace(10) null)
  call void @make(ptr sret({ ptr addrspace(10), ptr addrspace(10) }) %v, ptr addrspace(10) %list)
  %second = getelementptr i64, ptr %v, i64 1
  %o = load ptr addrspace(10), ptr %second
  %n = call i64 @value(ptr addrspace(10) %o)
  %p = load ptr addrspace(10), ptr %v
  %m = call i64 @value(ptr addrspace(10) %p)
  %r = add i64 %n, %m
  ret i64 %r
}
