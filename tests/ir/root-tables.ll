; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; Globals that hold references are listed by runs; a table belongs to its global's section and group.

; RUN: %tenon opt --passes=root-tables %s | FileCheck %s --implicit-check-not='section "tenon_roots"'
; RUN: %tenon compile -O0 --function-sections %s -o %t.o
; RUN: llvm-readelf -S -W %t.o | FileCheck %s --check-prefix=SECTIONS
; RUN: llvm-readelf -r -W %t.o | FileCheck %s --check-prefix=RELOCATIONS
; RUN: not %tenon opt --passes=root-tables - <%S/Inputs/packed-global.ll 2>&1 | FileCheck %s --check-prefix=PACKED

; PACKED: 'packed': {{.*}} [global-layout]

$in_group = comdat any

@one = global ptr addrspace(10) null
@mixed = internal global { i64, ptr addrspace(10), [3 x ptr addrspace(10)], i32, { ptr addrspace(10) } } zeroinitializer
@in_group = linkonce_odr global ptr addrspace(10) null, comdat
@declared = external global ptr addrspace(10)
@fixed = constant ptr addrspace(10) null
@no_references = global i64 0
@common = common global ptr addrspace(10) null

; CHECK: @common = weak global ptr addrspace(10) null
; CHECK: @tn.roots = private constant [1 x { i32, i32 }] [{ i32, i32 } { i32 trunc (i64 sub (i64 ptrtoint (ptr @tn.root to i64), i64 ptrtoint (ptr @tn.roots to i64)) to i32), i32 1 }], section "tenon_roots", align 4, !associated [[ONE:![0-9]+]]
; CHECK: = private constant [2 x { i32, i32 }] {{.*}} i32 4 }, {{.*}} i32 1 }], section "tenon_roots", align 4, !associated [[MIXED:![0-9]+]]
; CHECK: = private constant [1 x { i32, i32 }] {{.*}} section "tenon_roots", comdat($in_group), align 4, !associated
; CHECK: = private constant [1 x { i32, i32 }] {{.*}} section "tenon_roots", align 4, !associated
; CHECK: [[ONE]] = !{ptr @one}
; CHECK: [[MIXED]] = !{ptr @mixed}

; SECTIONS-COUNT-2: tenon_roots PROGBITS {{.*}} AL
; SECTIONS: tenon_roots PROGBITS {{.*}} ALG
; RELOCATIONS: .relatenon_roots
; RELOCATIONS-COUNT-4: R_X86_64_PC32

define void @keep(ptr addrspace(10) %o) {
  store ptr addrspace(10) %o, ptr getelementptr (i8, ptr @mixed, i64 8)
  %v = load ptr addrspace(10), ptr @in_group
  store ptr addrspace(10) %v, ptr @declared
  ret void
}
