/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

__attribute__((used, section("__DATA,__entries"))) static const int two[] = {30, 400};
__attribute__((used, section("__TABLE,__end"))) static const int end[] = {8, 9};
__attribute__((used, section("__TABLE,__part"))) static const int more[] = {7};
