; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; For host.cpp: managed code that catches what native code throws during a transition; a reference and a derived pointer live into the
; landing pad.

target triple = "x86_64-unknown-linux-gnu"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"

%type = type { ptr, i32, i32, i64, i64, i64, i64, ptr, i64, ptr }
@leaf = constant %type { ptr null, i32 0, i32 8, i64 16, i64 0, i64 0, i64 0, ptr null, i64 0, ptr null }, align 16

declare void @throw_below(i64)
declare ptr @__cxa_begin_catch(ptr)
declare void @__cxa_end_catch()
declare i32 @__gxx_personality_v0(...)
declare ptr addrspace(10) @tenon.gc_alloc_obj(ptr, i64, ptr addrspace(10))

define i64 @be_caught(i64 %depth) personality ptr @__gxx_personality_v0 {
  %o = call ptr addrspace(10) @tenon.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) addrspacecast (ptr @leaf to ptr addrspace(10)))
  %start = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)
  %second = getelementptr i8, ptr addrspace(11) %start, i64 8
  store i64 %depth, ptr addrspace(11) %start
  store i64 40, ptr addrspace(11) %second
  invoke void @throw_below(i64 %depth) to label %done unwind label %caught

done:
  %a = load i64, ptr addrspace(11) %second
  ret i64 %a

caught:
  %pad = landingpad { ptr, i32 } catch ptr null
  %first = load i64, ptr addrspace(11) %start
  %exception = extractvalue { ptr, i32 } %pad, 0
  %object = call ptr @__cxa_begin_catch(ptr %exception)
  %thrown = load i32, ptr %object
  call void @__cxa_end_catch()
  %b = load i64, ptr addrspace(11) %second
  %wide = sext i32 %thrown to i64
  %sum = add i64 %b, %wide
  %all = add i64 %sum, %first
  ret i64 %all
}
