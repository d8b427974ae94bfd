; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Code that is to be small: what a pipeline's options, and targets of an image, say of functions.

; RUN: for level in 0 1 2; do \
; RUN:   %tenon opt --passes="tenon<level=$level>" %s -o - | FileCheck %s --check-prefix=PLAIN || exit 1; \
; RUN:   %tenon opt --passes="tenon<level=$level;opt_size>" %s -o - | FileCheck %s --check-prefix=SMALL || exit 1; \
; RUN:   %tenon opt --passes="tenon<level=$level;min_size>" %s -o - | FileCheck %s --check-prefix=LEAST || exit 1; \
; RUN: done
; RUN: %tenon opt --passes='tenon<min_size;no_min_size>' %s -o - | FileCheck %s --check-prefix=PLAIN

; Code of clang -O0 has `optnone`, which goes with neither.
; RUN: %tenon build -O0 --targets 'x86-64,min_size' --emit=unopt-bc -o %t.a %s
; RUN: llvm-ar p %t.a 'text#0.bc' | llvm-dis | FileCheck %s --check-prefix=LEAST

target triple = "x86_64-pc-linux-gnu"

; PLAIN-DAG: @one({{.*}} [[ONE:#[0-9]+]]
; PLAIN-DAG: @none({{.*}} [[NONE:#[0-9]+]]
; PLAIN-NOT: attributes {{.*}}size
; SMALL: @one({{.*}} [[ONE:#[0-9]+]]
; SMALL: @none({{.*}} [[NONE:#[0-9]+]]
; SMALL: attributes [[ONE]] = { {{.*}}optsize
; SMALL-NOT: size
; LEAST: @one({{.*}} [[ONE:#[0-9]+]]
; LEAST: @none({{.*}} [[NONE:#[0-9]+]]
; LEAST: attributes [[ONE]] = { {{.*}}minsize {{.*}}optsize
; LEAST-NOT: size
define i32 @one(i32 %x) nounwind {
  %y = mul i32 %x, 7
  ret i32 %y
}

define i32 @none(i32 %x) noinline optnone {
  %y = mul i32 %x, 7
  ret i32 %y
}
