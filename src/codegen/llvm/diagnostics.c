/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM's diagnostics in the form compilers use: file:line:column: error: message. */

#include "codegen/llvm/diagnostics.h"
#include "codegen/llvm/llvm.h"
#include "codegen/llvm/remarks.h"

static struct tn_error format(const struct tn__diagnostics *diagnostics, const char *file, unsigned line,
                              unsigned column, const char *kind, const char *message)
{
    struct tn_error text;
    tn__fail(&text, TN_ECOMPILE, "%s:", file && *file ? file : diagnostics->name);
    if (line)
        tn__append(&text, "%u:%u:", line, column);
    tn__append(&text, " %s: ", kind);
    tn__append_text(&text, message);
    return text;
}

static void report_warning(void *user, const char *file, unsigned line, unsigned column, const char *message)
{
    const struct tn__diagnostics *diagnostics = user;
    struct tn_error text = format(diagnostics, file, line, column, "warning", message);
    diagnostics->observer->warning(diagnostics->observer->context, text.text);
}

void tn__diagnostics_report(void *user, const char *file, unsigned line, unsigned column, const char *message)
{
    struct tn__diagnostics *diagnostics = user;
    struct tn_error *err = diagnostics->err, text = format(diagnostics, file, line, column, "error", message);
    /* Assembly in a function is wrong once more wherever the function was inlined; one line says it. */
    if (diagnostics->errors && err && !strcmp(err->text + diagnostics->last, text.text))
        return;
    if (diagnostics->errors++ == 0)
        tn__fail(err, TN_ECOMPILE, "%s", "");
    else
        tn__append(err, "\n");
    diagnostics->last = err ? strlen(err->text) : 0;
    tn__append_text(err, text.text);
}

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *user)
{
    struct tn__diagnostics *diagnostics = user;
    LLVMDiagnosticSeverity severity = LLVMGetDiagInfoSeverity(info);
    if (severity == LLVMDSError)
        tn__llvm_describe(info, diagnostics->module, tn__diagnostics_report, user);
    else if (severity == LLVMDSWarning && diagnostics->observer && diagnostics->observer->warning)
        tn__llvm_describe(info, diagnostics->module, report_warning, user);
}

void tn__diagnostics_attach(struct tn__diagnostics *diagnostics, LLVMContextRef context)
{
    tn__llvm_observe_remarks(context, diagnostics->observer);
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
