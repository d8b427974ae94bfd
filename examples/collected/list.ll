; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Managed code as a front end writes it (doc/IR.md): a function that builds a list.
;
;     tenon verify list.ll
;     tenon opt --passes=lower-allocations,manage-functions,transitions,place-roots list.ll
;     tenon compile -O2 list.ll -o list.o

%type = type { [2 x i64] }
@list_type = external global %type, align 16

declare ptr addrspace(10) @tenon.gc_alloc_obj(ptr, i64, ptr addrspace(10))

define ptr addrspace(10) @cons(i64 %value, ptr addrspace(10) %rest) {
  %cell = call ptr addrspace(10) @tenon.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) addrspacecast (ptr @list_type to ptr addrspace(10)))
  %at = addrspacecast ptr addrspace(10) %cell to ptr addrspace(11)
  store i64 %value, ptr addrspace(11) %at
  %next = getelementptr i8, ptr addrspace(11) %at, i64 8
  store ptr addrspace(10) %rest, ptr addrspace(11) %next
  ret ptr addrspace(10) %cell
}
