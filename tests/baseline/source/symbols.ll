; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Groups, sections and other names. It is compiled twice, with @main in one of both: of each group, one stays.

$shared = comdat any
$signature = comdat any

@text = private constant [15 x i8] c"%d %d %d %d %d\00"
declare i32 @printf(ptr, ...)

define linkonce_odr i32 @shared(i32 %x) comdat {
  %y = call i32 @within(i32 %x)
  ret i32 %y
}

define weak_odr i32 @within(i32 %x) comdat($signature) {
  %y = mul i32 %x, 3
  ret i32 %y
}

@complete = weak_odr alias i32 (i32), ptr @within
@again = weak_odr alias i32 (i32), ptr @complete
@hidden_name = internal alias i32 (i32), ptr @in_section

define internal i32 @in_section(i32 %x) section "own_code" {
  %y = add i32 %x, 1000
  %z = call i32 @shared(i32 %y)
  ret i32 %z
}

define weak i32 @run(i32 %x) {
  %a = call i32 @shared(i32 %x)
  %b = call i32 @complete(i32 %a)
  %c = call i32 @again(i32 %b)
  %d = call i32 @hidden_name(i32 %c)
  %same = icmp eq ptr @complete, @within
  %e = zext i1 %same to i32
  %f = call i32 (ptr, ...) @printf(ptr @text, i32 %a, i32 %b, i32 %c, i32 %d, i32 %e)
  ret i32 0
}
