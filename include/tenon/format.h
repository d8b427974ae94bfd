/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Formats of object files, each for one architecture. A session reads those that its options name
 * (tn_session_options.formats); a program contains the readers of those that it names, and no others.
 *
 *     const struct tn_format *const formats[] = {&tn_format_elf_x86_64, NULL};
 *     struct tn_session_options options = {.size = sizeof options, .formats = formats}; */

#ifndef TENON_FORMAT_H
#define TENON_FORMAT_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_format;

/* ELF64, little-endian (gABI 4.1). The relocation types of each are those of its psABI; `tenon relocs` prints them. */
extern TN_API const struct tn_format tn_format_elf_x86_64, tn_format_elf_aarch64, tn_format_elf_riscv64;

/* Shared libraries for x86-64 (gABI 4.1, chapter 5), which are opened by this linker, without one of the system's:
 * also in a static program (doc/SHARED.md). Stands before tn_format_elf_x86_64. */
extern TN_API const struct tn_format tn_format_elf_shared_x86_64;

/* Mach-O objects (Apple's "OS X ABI Mach-O File Format Reference"), and of universal files the object or archive for
 * the architecture. Names of C are looked up as in C: `puts` finds _puts, and main is found as `main`. A name that does
 * not begin with an underscore in the file has the prefix "\1" here. arm64e is refused. */
extern TN_API const struct tn_format tn_format_macho_x86_64, tn_format_macho_aarch64;

/* COFF objects, as compilers for Windows make them, with 32-bit section numbers or without (Microsoft, "PE Format").
 * Their code keeps to the calling convention of Windows: on x86-64 call it through pointers to functions with
 * __attribute__((ms_abi)), and give it functions of that kind. */
extern TN_API const struct tn_format tn_format_coff_x86_64, tn_format_coff_aarch64;

/* "elf-x86-64"; static. Any thread may call it. */
TN_API const char *tn_format_name(const struct tn_format *format);

#ifdef __cplusplus
}
#endif
#endif
