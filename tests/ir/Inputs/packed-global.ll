; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
@packed = global <{ i8, ptr addrspace(10) }> zeroinitializer
