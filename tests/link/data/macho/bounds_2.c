/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

__attribute__((used, section("__DATA,__entries"))) static const int two[] = {30, 400};
