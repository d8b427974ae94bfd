/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM's diagnostics in the form compilers use: file:line:column: error: message. */

#include "codegen/codegen.h"
#include "codegen/llvm.h"

void tn__diagnostics_report(void *user, const char *file, unsigned line, unsigned column, const char *message)
{
    struct tn__diagnostics *diagnostics = user;
    if (diagnostics->errors++ == 0)
        tn__fail(diagnostics->err, TN_ECOMPILE, "%s", "");
    else
        tn__append(diagnostics->err, "\n");
    tn__append(diagnostics->err, "%s:", file && *file ? file : diagnostics->name);
    if (line)
        tn__append(diagnostics->err, "%u:%u:", line, column);
    tn__append(diagnostics->err, " error: ");
    tn__append_text(diagnostics->err, message);
}

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *user)
{
    struct tn__diagnostics *diagnostics = user;
    if (LLVMGetDiagInfoSeverity(info) == LLVMDSError)
        tn__llvm_describe(info, diagnostics->module, tn__diagnostics_report, user);
}

void tn__diagnostics_attach(struct tn__diagnostics *diagnostics, LLVMContextRef context)
{
    LLVMContextSetDiagnosticHandler(context, on_diagnostic, diagnostics);
}

const char *tn__module_name(LLVMValueRef function)
{
    unsigned length;
    LLVMAttributeRef name = LLVMGetStringAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                                          TN__MODULE_NAME, sizeof TN__MODULE_NAME - 1);
    size_t size;
    return name ? LLVMGetStringAttributeValue(name, &length) : LLVMGetValueName2(function, &size);
}
