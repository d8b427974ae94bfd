/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon compile. */

#include "codegen/compile/view.h"
#include "lib/watch.h"

/* False: an error was reported. */
static bool compile(const struct file *file, const struct settings *settings, struct tn_buffer *out)
{
    struct tn_compile_stats stats = {.size = sizeof stats};
    struct tn__view view = {
        .function = settings->function, .no_names = settings->strip, .no_debug_info = settings->no_debug_info};
    bool is_view = view.function || view.no_names || view.no_debug_info;
    if (!tool_compile(file, settings, is_view ? &view : NULL, out, &stats))
        return false;
    const struct run_stats times = {.compile = stats, .ir_files = 1, .opt_level = settings->opt_level};
    if (settings->stats)
        tool_print_compile_times(stderr, &times);
    if (is_view && !view.was_called)
        return tool_fail(STATUS_USAGE, "--function, --strip and --debuginfo need 'tenon' among --passes"), false;
    return tool_write(settings->output, out->data, out->size);
}

int command_compile(struct settings *settings)
{
    if (settings->file_count != 1)
        return tool_fail(STATUS_USAGE, "one FILE at a time, not %d ('%s' ...)", settings->file_count,
                         settings->files[0]);
    if (settings->argument_count)
        return tool_fail(STATUS_USAGE, "nothing may follow '--'");
    if (!settings->output)
        return tool_fail(STATUS_USAGE, "no output named; add -o OUT (- is standard output)");
    if (settings->baseline && settings->opt_level)
        return tool_fail(STATUS_USAGE, "option '--baseline' needs '-O0'");
    if (tool_is_same_file(settings->files[0], settings->output))
        return tool_fail(STATUS_FAILURE, "'%s' is the input; -o would replace it", settings->output);
    struct file file;
    if (!tool_isolate(settings) || !tool_watch(settings) || !tool_read(settings->files[0], &file))
        return STATUS_FAILURE;
    int status = STATUS_FAILURE;
    struct tn_buffer out = {0};
    if (file.kind != FILE_IR && file.kind != FILE_FLAT)
        tool_fail(STATUS_FAILURE, "'%s' is %s, not LLVM IR; there is nothing to compile", file.name,
                  tool_kind_name(&file));
    else if (compile(&file, settings, &out))
        status = STATUS_OK;
    tool_progress_stop();
    tool_end_isolation();
    tn_buffer_free(&out);
    tool_release(&file);
    return status;
}
