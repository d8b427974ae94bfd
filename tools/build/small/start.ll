; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; The least program, watched first by tools/build/small/order: what every start needs lies before what only some need.

@text = private constant [6 x i8] c"hello\00"

declare i32 @puts(ptr)

define i32 @main() {
  %written = call i32 @puts(ptr @text)
  %failed = icmp slt i32 %written, 0
  %status = zext i1 %failed to i32
  ret i32 %status
}
