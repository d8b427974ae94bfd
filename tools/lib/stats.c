/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The table of `tenon run --stats`: where the time went, and what the program takes. */

#include <inttypes.h>
#include <stdarg.h>
#include <sys/resource.h>

#include "lib/watch.h"

static void print_time(FILE *out, const char *what, uint64_t ns, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void print_time(FILE *out, const char *what, uint64_t ns, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(out, "  %-12s %10.3f ms   ", what, (double)ns / 1e6);
    vfprintf(out, format, arguments);
    fputc('\n', out);
    va_end(arguments);
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void print_baseline_times(FILE *out, uint64_t functions, uint64_t left, uint64_t ns)
{
    if (functions + left)
        print_time(out, "  baseline", ns, "%" PRIu64 " function%s; %" PRIu64 " left to LLVM", functions,
                   plural(functions), left);
    tool_print_reasons(out);
}

void tool_print_compile_times(FILE *out, const struct run_stats *stats)
{
    const struct tn_compile_stats *c = &stats->compile;
    print_time(out, "parse", c->parse_ns, "%" PRIu64 " module%s, %" PRIu64 " function%s, %" PRIu64 " instruction%s",
               stats->ir_files, plural(stats->ir_files), c->functions, plural(c->functions), c->instructions,
               plural(c->instructions));
    print_time(out, "optimise", c->optimize_ns, "-O%d", stats->opt_level);
    print_time(out, "emit", c->emit_ns, "machine code");
    print_baseline_times(out, c->baseline_functions, c->baseline_left, c->baseline_ns);
}

static void print_jit_times(FILE *out, const struct tn_jit *jit, int level)
{
    struct tn_jit_stats s = {.size = sizeof s};
    tn_jit_stats(jit, &s);
    print_time(out, "read", s.read_ns, "%" PRIu64 " module%s", s.modules, plural(s.modules));
    if (s.functions)
        print_time(out, "extract", s.extract_ns, "%" PRIu64 " of %" PRIu64 " functions compiled, %.1f%% never", s.taken,
                   s.functions, 100.0 * (double)(s.functions - s.taken) / (double)s.functions);
    print_time(out, "parse", s.parse_ns, "of what was extracted");
    print_time(out, "optimise", s.optimize_ns, "-O%d", level);
    print_time(out, "emit", s.emit_ns, "machine code");
    print_baseline_times(out, s.baseline_functions, s.baseline_left, s.baseline_ns);
}

static void print_link_times(FILE *out, const struct run_stats *stats, const struct tn_stats *link)
{
    print_time(out, "session", stats->session_ns, "%" PRIu64 " MiB of address space reserved, code memory: %s",
               link->reserved_bytes >> 20, link->strategy);
    print_time(out, "link", stats->link_ns, "%.1f KB in %" PRIu64 " file%s, %" PRIu64 " object%s taken",
               (double)stats->object_bytes / 1e3, stats->files, plural(stats->files), link->objects,
               plural(link->objects));
    print_time(out, "  read", link->read_ns, "%" PRIu64 " sections, %" PRIu64 " symbols", link->sections,
               link->symbols);
    print_time(out, "  resolve", link->resolve_ns, "%zu host symbols to choose from", tn__host_symbols.count);
    print_time(out, "  layout", link->layout_ns, "%" PRIu64 " GOT slots, %" PRIu64 " stubs", link->got_slots,
               link->stubs);
    print_time(out, "  copy", link->copy_ns, "code %.1f KB, read-only data %.1f KB, data %.1f KB",
               (double)link->code_bytes / 1e3, (double)link->rodata_bytes / 1e3, (double)link->data_bytes / 1e3);
    print_time(out, "  relocate", link->relocate_ns, "%" PRIu64 " relocations", link->relocations);
    print_time(out, "  publish", link->publish_ns, "%" PRIu64 " mappings", link->mappings);
}

void tool_print_stats(const struct run_stats *stats, struct tn_session *session, FILE *out)
{
    struct tn_stats link = {.size = sizeof link};
    struct rusage usage;
    fprintf(out, "tenon %s: where the time went\n", stats->command);
    if (tool_program.jit)
        print_jit_times(out, tool_program.jit, stats->opt_level);
    else if (stats->ir_files)
        tool_print_compile_times(out, stats);
    if (session) {
        tn_session_stats(session, &link);
        print_link_times(out, stats, &link);
    }
    getrusage(RUSAGE_SELF, &usage);
    print_time(out, "run", stats->run_ns, "peak memory of the process %.1f MB", (double)usage.ru_maxrss / 1024);
}
