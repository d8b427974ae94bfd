/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon verify: the contract of managed code, checked. */

#include "lib/tool.h"

/* What is expanded first is checked by the passes that expand it. */
static const char strong[] = "normalize-clang,expand-atomic-modify,zero-indirect,lower-handlers,gc-verify-strong";

static int verify(const struct file *file, const struct settings *settings)
{
    struct tn_compile_options options = {
        .size = sizeof options,
        .triple = settings->triple,
        .emit = TN_EMIT_BITCODE,
        .passes = settings->weak ? "gc-verify" : strong,
    };
    struct tn_buffer out;
    struct tn_error error;
    int code = tn_compile(file->name, file->bytes, file->size, &options, &out, NULL, &error);
    if (code)
        return tool_fail_ir(file, 1, code, &error);
    tn_buffer_free(&out);
    return STATUS_OK;
}

int command_verify(struct settings *settings)
{
    if (settings->argument_count)
        return tool_fail(STATUS_USAGE, "nothing may follow '--'");
    int status = STATUS_OK;
    for (int i = 0; i < settings->file_count; i++) {
        struct file file;
        if (!tool_read(settings->files[i], &file)) {
            status = STATUS_FAILURE;
            continue;
        }
        if (file.kind != FILE_IR)
            status = tool_fail(STATUS_FAILURE, "'%s' is not LLVM IR", file.name);
        else if (verify(&file, settings) != STATUS_OK)
            status = STATUS_FAILURE;
        tool_release(&file);
    }
    return status;
}
