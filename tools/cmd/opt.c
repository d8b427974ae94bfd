/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon opt: passes and stages, one by one. */

#include <inttypes.h>

#include "lib/tool.h"
#include "lib/watch.h"

static int list_passes(void)
{
    for (const char *const *name = tn_codegen_passes(); *name; name++)
        puts(*name);
    return STATUS_OK;
}

static void print_counters(const struct tn_compile_stats *stats)
{
    const struct {
        const char *what;
        uint64_t count;
    } rows[] = {
        {"safepoints", stats->safepoints},
        {"live references", stats->live_references},
        {"live derived pointers", stats->live_derived},
        {"phis and selects of bases", stats->base_phis},
        {"references in stack memory", stats->stack_roots},
        {"pinned references", stats->pinned},
        {"barriers", stats->barriers},
        {"stores without barrier", stats->barriers_skipped},
        {"inline allocations", stats->inline_allocations},
        {"polls", stats->polls},
        {"allocations removed", stats->removed_allocations},
        {"allocations split into fields", stats->split_allocations},
        {"allocations in stack memory", stats->stack_allocations},
        {"choices split into fields", stats->split_choices},
        {"barriers removed", stats->removed_barriers},
        {"polls removed", stats->removed_polls},
        {"polls once in many turns", stats->spaced_polls},
        {"allocations merged with others", stats->merged_allocations},
        {"moved out of loops", stats->hoisted},
        {"accesses of no object", stats->unmanaged_accesses},
        {"calls devirtualized", stats->devirtualized_calls},
        {"handlers", stats->handlers},
        {"atomic modifications expanded", stats->expanded_modifications},
        {"memory zeroed indirectly", stats->zeroed_indirectly},
        {"tests of the CPU answered", stats->answered_tests},
        {"reductions in any order", stats->reordered_reductions},
        {"products fused with sums", stats->fused_products},
        {"operations demoted to float", stats->demoted_operations},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        fprintf(stderr, "%10" PRIu64 " %s\n", rows[i].count, rows[i].what);
}

static int run_passes(const struct file *file, const struct settings *settings)
{
    struct tn_compile_options options = {
        .size = sizeof options,
        .triple = settings->triple,
        .emit = TN_EMIT_LLVM,
        .polls = settings->polls,
        .passes = settings->passes,
        .observer = tool_watch_observer(),
    };
    struct tn_compile_stats stats = {.size = sizeof stats};
    struct tn_buffer out;
    struct tn_error error;
    int code = tn_compile(file->name, file->bytes, file->size, &options, &out, &stats, &error);
    if (code == TN_EINVAL)
        return tool_fail(STATUS_USAGE, "%s", error.text);
    if (code)
        return tool_fail_ir(file, 1, code, &error);
    bool written = tool_write(settings->output ? settings->output : "-", out.data, out.size);
    if (settings->stats)
        print_counters(&stats);
    tn_buffer_free(&out);
    return written ? STATUS_OK : STATUS_FAILURE;
}

int command_opt(struct settings *settings)
{
    if (!settings->passes && !settings->file_count)
        return list_passes();
    if (settings->file_count != 1 || settings->argument_count)
        return tool_fail(STATUS_USAGE, "one FILE at a time, not %d", settings->file_count + settings->argument_count);
    if (!settings->passes)
        return tool_fail(STATUS_USAGE, "no passes named; 'tenon opt' lists them");
    struct file file;
    if (!tool_watch(settings))
        return STATUS_USAGE;
    if (!tool_read(settings->files[0], &file))
        return STATUS_FAILURE;
    int status = file.kind == FILE_IR ? run_passes(&file, settings)
                                      : tool_fail(STATUS_FAILURE, "'%s' is not LLVM IR", file.name);
    tool_release(&file);
    return status;
}
