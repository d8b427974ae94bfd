/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "support.h"

#include "llvm_module.h"

static const char *any_layout(void *user, const char *triple, const char *layout)
{
    (void)user, (void)triple, (void)layout;
    return NULL;
}

static void no_report(void *user, const char *file, unsigned line, unsigned column, const char *message)
{
    (void)user, (void)file;
    fail_msg("%u:%u: %s", line, column, message);
}

LLVMModuleRef parse_module(LLVMContextRef context, const char *ir, size_t length)
{
    return tn__llvm_parse(context, "test", ir, length, false, any_layout, NULL, no_report, NULL);
}
