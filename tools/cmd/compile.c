/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon compile. */

#include "lib/watch.h"

int command_compile(struct settings *settings)
{
    if (settings->file_count != 1)
        return tool_fail(STATUS_USAGE, "one FILE at a time, not %d ('%s' ...)", settings->file_count,
                         settings->files[0]);
    if (settings->argument_count)
        return tool_fail(STATUS_USAGE, "nothing may follow '--'");
    if (!settings->output)
        return tool_fail(STATUS_USAGE, "no output named; add -o OUT (- is standard output)");
    if (tool_is_same_file(settings->files[0], settings->output))
        return tool_fail(STATUS_FAILURE, "'%s' is the input; -o would replace it", settings->output);
    struct file file;
    if (!tool_watch(settings) || !tool_read(settings->files[0], &file))
        return STATUS_FAILURE;
    int status = STATUS_FAILURE;
    struct tn_buffer out = {0};
    struct tn_compile_stats stats = {.size = sizeof stats};
    if (file.kind != FILE_IR)
        tool_fail(STATUS_FAILURE, "'%s' is %s, not LLVM IR; there is nothing to compile", file.name,
                  tool_kind_name(&file));
    else if (tool_compile(&file, settings, &out, &stats) && tool_write(settings->output, out.data, out.size))
        status = STATUS_OK;
    tool_progress_stop();
    tn_buffer_free(&out);
    tool_release(&file);
    return status;
}
