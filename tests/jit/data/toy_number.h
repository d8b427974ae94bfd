/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The toy compiler writes the program's number in place of this. */
#define TOY_NUMBER 0x1122334455667788
