; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; A program that throws to its own handler.
@top = internal global ptr null
@text = constant [7 x i8] c"caught\00"
declare i32 @tenon.except_enter()
declare void @siglongjmp(ptr, i32) noreturn
declare i32 @puts(ptr)
define void @tenon_enter_handler(ptr %buffer) { store ptr %buffer, ptr @top ret void }
define void @tenon_pop_handler(i32 %count) { store ptr null, ptr @top ret void }
define i32 @main() {
  %caught = call i32 @tenon.except_enter()
  %is_first = icmp eq i32 %caught, 0
  br i1 %is_first, label %body, label %handler
body:
  %buffer = load ptr, ptr @top
  call void @siglongjmp(ptr %buffer, i32 1)
  unreachable
handler:
  call void @tenon_pop_handler(i32 1)
  %said = call i32 @puts(ptr @text)
  ret i32 0
}
