/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon gc-report: a page about the collections in a log (TENON_GC_LOG): numbers, and three charts over time. The page
 * needs nothing but itself, and has colours for light and dark screens. */

#include <stdlib.h>
#include <string.h>

#include "lib/tool.h"
#include "tenon_heap.h"

/* ---- the log ---- */

struct log {
    const char *name;
    struct tn_collection *all; /* in the order of time */
    size_t count, capacity;
    double begin, seconds; /* of the first one; from its beginning to the end of the last one */
};

static bool take_line(struct log *log, const char *line)
{
    struct tn_error err;
    if (log->count == log->capacity) {
        size_t capacity = log->capacity ? 2 * log->capacity : 1024;
        struct tn_collection *larger = realloc(log->all, capacity * sizeof *larger);
        if (!larger)
            return tool_fail(STATUS_FAILURE, "out of memory"), false;
        log->all = larger;
        log->capacity = capacity;
    }
    log->count += tn_collection_read(line, &log->all[log->count], &err) == TN_OK;
    return true;
}

static int compare_begins(const void *a, const void *b)
{
    uint64_t x = ((const struct tn_collection *)a)->begin_ns, y = ((const struct tn_collection *)b)->begin_ns;
    return (x > y) - (x < y);
}

/* Other lines are skipped: standard error of a program may be a log too. */
static bool read_log(const char *name, struct log *log)
{
    enum { LONGEST = 4096 };
    char line[LONGEST];
    struct file file;
    bool ok = tool_read_any(name, &file);
    if (!ok)
        return false;
    const char *at = file.bytes, *end = at + file.size;
    while (ok && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at), taken = length < LONGEST - 1 ? length : LONGEST - 1;
        memcpy(line, at, taken);
        line[taken] = '\0';
        ok = take_line(log, line);
        at += length + 1;
    }
    tool_release(&file);
    if (ok && !log->count)
        return tool_fail(STATUS_FAILURE, "%s: there is no line about a collection (TENON_GC_LOG)", name), false;
    if (!ok)
        return false;
    qsort(log->all, log->count, sizeof *log->all, compare_begins);
    const struct tn_collection *last = &log->all[log->count - 1];
    log->begin = (double)log->all->begin_ns / 1e9;
    log->seconds = (double)(last->begin_ns + last->pause_ns) / 1e9 - log->begin;
    return true;
}

/* ---- numbers ---- */

enum { ALL = -1, YOUNG, FULL, CYCLES };

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void write_time(FILE *out, double ns)
{
    if (ns < 1e6)
        fprintf(out, "<td>%.1f us</td>", ns / 1e3);
    else
        fprintf(out, "<td>%.2f ms</td>", ns / 1e6);
}

/* A row with quantiles of a member of the collections of a kind. */
static bool write_quantiles(FILE *out, const struct log *log, const char *title, int kind, size_t member)
{
    static const double portions[] = {.5, .9, .99, .999, 1};
    double *values = malloc(log->count * sizeof *values);
    size_t count = 0;
    if (!values)
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    for (size_t i = 0; i < log->count; i++) {
        uint64_t value;
        memcpy(&value, (const char *)&log->all[i] + member, sizeof value);
        if (kind == ALL || (kind == CYCLES ? value > 0 : log->all[i].full == (uint64_t)kind))
            values[count++] = (double)value;
    }
    qsort(values, count, sizeof *values, compare_numbers);
    fprintf(out, "<tr><th>%s</th><td>%zu</td>", title, count);
    for (size_t i = 0; count && i < sizeof portions / sizeof *portions; i++) {
        size_t at = (size_t)((double)count * portions[i]);
        write_time(out, values[at < count ? at : count - 1]);
    }
    fputs("</tr>\n", out);
    free(values);
    return true;
}

static void write_sums(FILE *out, const struct log *log)
{
    const double MB = 1 << 20;
    struct tn_collection sum = {0};
    uint64_t most = 0, committed = 0;
    for (size_t i = 0; i < log->count; i++) {
        const struct tn_collection *c = &log->all[i];
        sum.pause_ns += c->pause_ns;
        sum.moved += c->moved;
        sum.young += c->young;
        sum.survived += c->survived;
        sum.swept += c->swept;
        most = c->before > most ? c->before : most;
        committed = c->committed > committed ? c->committed : committed;
    }
    fprintf(out, "<p>%.3f s from the first collection to the last, %.3f s (%.1f %%) of them in pauses. ", log->seconds,
            (double)sum.pause_ns / 1e9, log->seconds > 0 ? (double)sum.pause_ns / 1e7 / log->seconds : 0);
    fprintf(out, "At most %.1f MB in use, %.1f MB from the system; %.1f MB copied, %.1f MB swept. ", (double)most / MB,
            (double)committed / MB, (double)sum.moved / MB, (double)sum.swept / MB);
    if (sum.young)
        fprintf(out, "Of %.1f MB of young objects %.1f %% survived.", (double)sum.young / MB,
                100 * (double)sum.survived / (double)sum.young);
    fputs("</p>\n", out);
}

/* What each phase took in all, and how many workers there were. */
static void write_phases(FILE *out, const struct log *log)
{
    uint64_t sums[TN_COLLECTION_COUNT] = {0}, all = 0, workers = 1;
    for (size_t i = 0; i < log->count; i++) {
        workers = log->all[i].workers > workers ? log->all[i].workers : workers;
        for (int k = 0; k < TN_COLLECTION_COUNT; k++) {
            sums[k] += log->all[i].phase_ns[k];
            all += log->all[i].phase_ns[k];
        }
    }
    fputs("<p>Phases:", out);
    for (int k = 0; k < TN_COLLECTION_COUNT; k++)
        if (sums[k])
            fprintf(out, " %s %.3f ms (%.1f %%),", tn_collection_phase_name((unsigned)k), (double)sums[k] / 1e6,
                    100 * (double)sums[k] / (double)all);
    fprintf(out, " in at most %llu thread%s.</p>\n", (unsigned long long)workers, workers == 1 ? "" : "s");
}

/* Of full collections: free bytes between objects, beside those that are in use. */
static void write_fragmentation(FILE *out, const struct log *log)
{
    double worst = 0;
    const struct tn_collection *last = NULL;
    for (size_t i = 0; i < log->count; i++) {
        const struct tn_collection *c = &log->all[i];
        double part = (double)c->holes / (double)(c->holes + c->marked + 1);
        worst = part > worst ? part : worst;
        last = c->full && c->marked ? c : last;
    }
    if (last)
        fprintf(out,
                "<p>Holes between objects: %.1f %% of the memory in use after the last full collection, at most "
                "%.1f %%.</p>\n",
                100 * (double)last->holes / (double)(last->holes + last->marked), 100 * worst);
}

static bool write_numbers(FILE *out, const struct log *log)
{
    fputs("<table><tr><th></th><th>number</th><th>median</th><th>90 %</th><th>99 %</th><th>99.9 %</th><th>worst</th>"
          "</tr>\n",
          out);
    const size_t pause = offsetof(struct tn_collection, pause_ns), stop = offsetof(struct tn_collection, stop_ns);
    const size_t cycle = offsetof(struct tn_collection, cycle_ns);
    bool ok = write_quantiles(out, log, "pauses, young collections", YOUNG, pause) &&
              write_quantiles(out, log, "pauses, full collections", FULL, pause) &&
              write_quantiles(out, log, "pauses, all", ALL, pause) &&
              write_quantiles(out, log, "time to safepoint", ALL, stop) &&
              write_quantiles(out, log, "full collections beside threads", CYCLES, cycle);
    fputs("</table>\n", out);
    return ok;
}

/* ---- charts ---- */

/* In pixels: the area of a chart, and what is around it. */
enum { WIDTH = 960, HEIGHT = 220, LEFT = 70, TOP = 10, AXIS = 22, BINS = 960 };

/* What one pixel column or, if there are fewer of them, one collection shows. */
struct bin {
    double at; /* seconds */
    size_t count;
    struct tn_collection c; /* the worst pause, the largest sizes, the sums of phases */
};

static void add_to_bin(struct bin *bin, const struct tn_collection *c)
{
    if (c->pause_ns > bin->c.pause_ns) {
        bin->c.pause_ns = c->pause_ns;
        bin->c.number = c->number;
    }
    bin->c.full |= c->full;
    bin->c.before = c->before > bin->c.before ? c->before : bin->c.before;
    bin->c.committed = c->committed > bin->c.committed ? c->committed : bin->c.committed;
    bin->c.after = bin->count && c->after > bin->c.after ? bin->c.after : c->after;
    for (int i = 0; i < TN_COLLECTION_COUNT; i++)
        bin->c.phase_ns[i] += c->phase_ns[i];
    bin->count++;
}

static size_t make_bins(const struct log *log, struct bin *bins)
{
    size_t count = 0;
    for (size_t i = 0; i < log->count; i++) {
        double at = (double)log->all[i].begin_ns / 1e9 - log->begin;
        size_t bin = log->count <= BINS ? i : (size_t)(at / log->seconds * (BINS - 1));
        if (!bins[bin].count)
            bins[bin].at = at;
        add_to_bin(&bins[bin], &log->all[i]);
    }
    for (size_t i = 0; i < BINS; i++) /* those with collections come first */
        if (bins[i].count)
            bins[count++] = bins[i];
    return count;
}

struct chart {
    FILE *out;
    double seconds, most; /* the ends of the axes */
    bool is_log;          /* the upright axis is in microseconds, and begins at 1 */
};

static double x_of(const struct chart *chart, double seconds)
{
    return LEFT + (chart->seconds > 0 ? seconds / chart->seconds : 0) * WIDTH;
}

/* To the base of 2, bit by bit: well enough for a chart, and without libm. */
static double logarithm(double value)
{
    double log = 0, bit = 1;
    for (; value >= 2; value /= 2)
        log++;
    for (int i = 0; value > 1 && i < 10; i++) {
        value *= value;
        bit /= 2;
        if (value >= 2) {
            value /= 2;
            log += bit;
        }
    }
    return log;
}

static double y_of(const struct chart *chart, double value)
{
    double part = chart->is_log ? logarithm(value) / logarithm(chart->most) : value / chart->most;
    return TOP + HEIGHT * (1 - (part < 1 ? part : 1));
}

/* A number of at least the value whose fourth part is round too. */
static double round_up(double value)
{
    static const double steps[] = {1, 2, 3, 4, 6, 8, 10};
    double power = 1e-6;
    while (power * 10 <= value)
        power *= 10;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i] * power >= value)
            return steps[i] * power;
    return value;
}

/* Microseconds become milliseconds and seconds where these are round. */
static void write_tick(const struct chart *chart, double value, const char *unit)
{
    static const char *const times[] = {"us", "ms", "s"};
    double y = y_of(chart, value);
    for (size_t i = 0; chart->is_log && value >= 1000 && i + 1 < sizeof times / sizeof *times; i++) {
        value /= 1000;
        unit = times[i + 1];
    }
    fprintf(chart->out,
            "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" class=\"left\">%g %s</text>\n", LEFT, y,
            LEFT + WIDTH, LEFT - 6, y + 4, value, unit);
}

static struct chart begin_chart(FILE *out, const char *title, const char *unit, double most, bool is_log,
                                double seconds)
{
    enum { TICKS = 4 };
    struct chart chart = {out, seconds, is_log ? 10 : round_up(most > 1e-6 ? most : 1), is_log};
    while (is_log && chart.most < most)
        chart.most *= 10;
    fprintf(out, "<h2>%s</h2>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", title, LEFT + WIDTH + 10,
            TOP + HEIGHT + AXIS, title);
    if (is_log)
        for (double value = 1; value <= chart.most; value *= 10)
            write_tick(&chart, value, unit);
    else
        for (int i = 0; i <= TICKS; i++)
            write_tick(&chart, chart.most * i / TICKS, unit);
    double step = round_up(seconds > 0 ? seconds / 8 : 1);
    for (double at = 0; at <= seconds; at += step)
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" class=\"below\">%g s</text>\n", x_of(&chart, at), TOP + HEIGHT + 16,
                at);
    return chart;
}

/* While objects are marked beside threads. If there are too many cycles, those that end in the same pixel are one. */
static void write_cycles(const struct chart *chart, const struct log *log)
{
    double drawn = -1;
    for (size_t i = 0; i < log->count; i++) {
        const struct tn_collection *c = &log->all[i];
        double end = (double)(c->begin_ns + c->pause_ns) / 1e9 - log->begin, begin = end - (double)c->cycle_ns / 1e9;
        double from = x_of(chart, begin > 0 ? begin : 0), to = x_of(chart, end);
        if (!c->cycle_ns || to < drawn + 1)
            continue;
        fprintf(chart->out,
                "<rect class=\"cycle\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"><title>%llu: cycle, %.3f ms"
                "</title></rect>\n",
                from, TOP, to - from, HEIGHT, (unsigned long long)c->number, (double)c->cycle_ns / 1e6);
        drawn = to;
    }
}

static void chart_sizes(FILE *out, const struct log *log, const struct bin *bins, size_t count)
{
    const double MB = 1 << 20;
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        most = (double)bins[i].c.before / MB > most ? (double)bins[i].c.before / MB : most;
        most = (double)bins[i].c.committed / MB > most ? (double)bins[i].c.committed / MB : most;
    }
    struct chart chart = begin_chart(out, "Heap", "MB", most, false, log->seconds);
    write_cycles(&chart, log);
    fputs("<path class=\"line c1\" d=\"", out);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%c%.1f %.1fV%.1f", i ? 'L' : 'M', x_of(&chart, bins[i].at),
                y_of(&chart, (double)bins[i].c.before / MB), y_of(&chart, (double)bins[i].c.after / MB));
    fputs("\"/>\n<path class=\"line c9 dashed\" d=\"", out);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%c%.1f %.1f", i ? 'L' : 'M', x_of(&chart, bins[i].at),
                y_of(&chart, (double)bins[i].c.committed / MB));
    fputs(
        "\"/>\n</svg>\n<p><i class=\"b1\"></i> in use, before and after each collection <i class=\"b9\"></i> from the "
        "system <i class=\"cycle\"></i> objects are marked beside threads</p>\n",
        out);
}

static void chart_pauses(FILE *out, const struct log *log, const struct bin *bins, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = (double)bins[i].c.pause_ns / 1e3 > most ? (double)bins[i].c.pause_ns / 1e3 : most;
    struct chart chart = begin_chart(out, "Pauses", "us", most, true, log->seconds);
    for (size_t i = 0; i < count; i++)
        fprintf(
            out, "<circle class=\"f%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"><title>%llu: %s, %.1f us</title></circle>\n",
            bins[i].c.full ? 2 : 1, x_of(&chart, bins[i].at), y_of(&chart, (double)bins[i].c.pause_ns / 1e3),
            (unsigned long long)bins[i].c.number, bins[i].c.full ? "full" : "young", (double)bins[i].c.pause_ns / 1e3);
    fputs("</svg>\n<p><i class=\"b1\"></i> young <i class=\"b2\"></i> full</p>\n", out);
}

static double phases_of(const struct bin *bin)
{
    uint64_t sum = 0;
    for (int i = 0; i < TN_COLLECTION_COUNT; i++)
        sum += bin->c.phase_ns[i];
    return (double)sum / 1e6;
}

static void chart_phases(FILE *out, const struct log *log, const struct bin *bins, size_t count)
{
    double most = 0;
    bool any[TN_COLLECTION_COUNT] = {false};
    for (size_t i = 0; i < count; i++)
        most = phases_of(&bins[i]) > most ? phases_of(&bins[i]) : most;
    struct chart chart = begin_chart(out, "Phases", "ms", most, false, log->seconds);
    double width = WIDTH / (double)count > 8 ? 6 : 1;
    for (size_t i = 0; i < count; i++) {
        double below = 0;
        for (int k = 0; k < TN_COLLECTION_COUNT; k++) {
            double ms = (double)bins[i].c.phase_ns[k] / 1e6, y = y_of(&chart, below + ms);
            any[k] |= ms > 0;
            if (ms > 0)
                fprintf(out,
                        "<rect class=\"f%d\" x=\"%.1f\" y=\"%.2f\" width=\"%.0f\" height=\"%.2f\"><title>%s, %.3f ms"
                        "</title></rect>\n",
                        k, x_of(&chart, bins[i].at), y, width, y_of(&chart, below) - y,
                        tn_collection_phase_name((unsigned)k), ms);
            below += ms;
        }
    }
    fputs("</svg>\n<p>", out);
    for (int k = 0; k < TN_COLLECTION_COUNT; k++)
        if (any[k])
            fprintf(out, "<i class=\"b%d\"></i> %s\n", k, tn_collection_phase_name((unsigned)k));
    fputs("</p>\n", out);
}

/* ---- the page ---- */

static void write_escaped(FILE *out, const char *text)
{
    for (; *text; text++)
        if (strchr("<>&\"", *text))
            fprintf(out, "&#%d;", *text);
        else
            putc(*text, out);
}

static void write_head(FILE *out, const char *name)
{
    static const char *const colours[TN_COLLECTION_COUNT] = {"#7f7f7f", "#1f77b4", "#d62728", "#2ca02c",
                                                             "#17becf", "#ff7f0e", "#9467bd", "#e377c2",
                                                             "#bcbd22", "#aec7e8", "#c5b0d5", "#8c6d52"};
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width\">\n<title>Collections: ",
          out);
    write_escaped(out, name);
    fputs("</title>\n<style>\n"
          ":root { color-scheme: light dark; --text: #222; --back: #fff; --grid: #ddd; }\n"
          "@media (prefers-color-scheme: dark) { :root { --text: #ddd; --back: #181818; --grid: #3a3a3a; } }\n"
          "body { font: 15px sans-serif; color: var(--text); background: var(--back); max-width: 1060px; margin: 2em "
          "auto; padding: 0 1em; }\n"
          "svg { width: 100%; } svg text { font-size: 11px; fill: var(--text); }\n"
          ".left { text-anchor: end; } .below { text-anchor: middle; } .grid { stroke: var(--grid); }\n"
          ".line { fill: none; stroke-width: 1.5; } .dashed { stroke-dasharray: 5 3; }\n"
          "table { border-collapse: collapse; } th, td { padding: 2px 12px; text-align: right; }\n"
          "th:first-child { text-align: left; } tr { border-bottom: 1px solid var(--grid); }\n"
          ".cycle { fill: #9467bd; background: #9467bd; opacity: 0.25; }\n"
          "p > i { display: inline-block; width: 11px; height: 11px; margin-left: 1em; }\n",
          out);
    for (int i = 0; i < TN_COLLECTION_COUNT; i++)
        fprintf(out, ".c%d { stroke: %s; } .f%d { fill: %s; } .b%d { background: %s; }\n", i, colours[i], i, colours[i],
                i, colours[i]);
    fputs("</style></head>\n<body>\n<h1>Collections: ", out);
    write_escaped(out, name);
    fputs("</h1>\n", out);
}

static bool write_page(FILE *out, const struct log *log)
{
    struct bin *bins = calloc(BINS, sizeof *bins);
    if (!bins)
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    size_t count = make_bins(log, bins);
    write_head(out, log->name);
    write_sums(out, log);
    write_phases(out, log);
    write_fragmentation(out, log);
    bool ok = write_numbers(out, log);
    chart_sizes(out, log, bins, count);
    chart_pauses(out, log, bins, count);
    chart_phases(out, log, bins, count);
    fputs("</body></html>\n", out);
    free(bins);
    return ok;
}

int command_gc_report(struct settings *settings)
{
    struct log log = {.name = settings->files[0]};
    char *page = NULL;
    size_t size = 0;
    if (settings->file_count > 1)
        return tool_fail(STATUS_USAGE, "one LOG at a time");
    bool ok = read_log(log.name, &log);
    FILE *out = ok ? open_memstream(&page, &size) : NULL;
    if (ok && !out)
        tool_fail(STATUS_FAILURE, "out of memory");
    ok = out && write_page(out, &log);
    if (out && fclose(out) != 0)
        ok = false, tool_fail(STATUS_FAILURE, "out of memory");
    ok = ok && tool_write(settings->output ? settings->output : "-", page, size);
    free(page);
    free(log.all);
    return ok ? STATUS_OK : STATUS_FAILURE;
}
