/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* For programs that make LLVM give up. What a compilation then abandons is leaked on purpose
 * (src/codegen/llvm/fatal.cpp), so LeakSanitizer, which asks for this function, has nothing to report. Included by
 * one source of the program. */

#ifndef TENON_TESTS_CODEGEN_ABANDON_H
#define TENON_TESTS_CODEGEN_ABANDON_H

__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

#endif
