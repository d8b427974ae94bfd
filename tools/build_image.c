/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon build: IR to an image. */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "tenon_cpu.h"
#include "tool.h"

/* By the words of --emit. */
static const struct {
    const char *word;
    enum tn_image_output output;
} kinds[] = {{"obj", TN_IMAGE_OBJECTS},
             {"bc", TN_IMAGE_BITCODE},
             {"unopt-bc", TN_IMAGE_UNOPTIMIZED},
             {"asm", TN_IMAGE_ASSEMBLY}};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

struct job {
    const struct settings *settings;
    struct file *files;
    struct tn_image_input *inputs;
    char **roots;
    size_t root_count, root_capacity;
    size_t asked_for, unknown; /* roots: the first ones, by --root; those of the trace that are not there */
    struct tn_buffer out[TN_IMAGE_OUTPUTS];
};

static bool out_of_memory(void)
{
    return tool_fail(STATUS_FAILURE, "out of memory"), false;
}

/* ---- roots ---- */

static bool add_root(struct job *job, const char *name, size_t length)
{
    if (job->root_count == job->root_capacity) {
        size_t capacity = 2 * job->root_capacity + 16;
        char **roots = realloc(job->roots, capacity * sizeof *roots);
        if (!roots)
            return out_of_memory();
        job->roots = roots;
        job->root_capacity = capacity;
    }
    job->roots[job->root_count] = strndup(name, length);
    return job->roots[job->root_count++] || out_of_memory();
}

/* A line is precompile("NAME"...) and what else is known of it. */
static bool read_trace_line(struct job *job, const char *line, size_t number)
{
    static const char start[] = "precompile(\"";
    if (*line == '\n' || *line == '#')
        return true;
    const char *name = line + sizeof start - 1;
    const char *end = strncmp(line, start, sizeof start - 1) == 0 ? strchr(name, '"') : NULL;
    if (!end)
        return tool_fail(STATUS_FAILURE, "'%s', line %zu: not a line of a compile trace", job->settings->trace, number),
               false;
    return add_root(job, name, (size_t)(end - name));
}

static bool read_trace(struct job *job)
{
    FILE *trace = fopen(job->settings->trace, "r");
    if (!trace)
        return tool_fail(STATUS_FAILURE, "cannot read '%s': %s", job->settings->trace, strerror(errno)), false;
    char *line = NULL;
    size_t room = 0, number = 0;
    bool good = true;
    while (good && getline(&line, &room, trace) >= 0)
        good = read_trace_line(job, line, ++number);
    if (good && ferror(trace))
        good = (tool_fail(STATUS_FAILURE, "cannot read '%s': %s", job->settings->trace, strerror(errno)), false);
    free(line);
    fclose(trace);
    return good;
}

/* ---- what goes in ---- */

static bool read_input(struct job *job, const char *name, int index)
{
    struct file *file = &job->files[index];
    if (!tool_read(name, file))
        return false;
    if (file->kind != FILE_IR)
        return tool_fail(STATUS_FAILURE, "'%s' is %s, not LLVM IR; give it to the linker together with the image",
                         file->name, file->kind == FILE_OBJECT ? "an ELF object" : "an archive"),
               false;
    job->inputs[index] = (struct tn_image_input){file->name, file->bytes, file->size};
    return true;
}

static bool read_all(struct job *job)
{
    const struct settings *settings = job->settings;
    job->files = calloc((size_t)settings->file_count, sizeof *job->files);
    job->inputs = calloc((size_t)settings->file_count, sizeof *job->inputs);
    if (!job->files || !job->inputs)
        return out_of_memory();
    for (int i = 0; i < settings->file_count; i++)
        if (!read_input(job, settings->files[i], i))
            return false;
    for (int i = 0; i < settings->item_count; i++) {
        const struct item *item = &settings->items[i];
        if (item->option && strcmp(item->option, "--root") == 0 && !add_root(job, item->value, strlen(item->value)))
            return false;
    }
    job->asked_for = job->root_count;
    return !settings->trace || read_trace(job);
}

/* A trace may be of more than these files. */
static int skip_unknown(void *context, size_t index)
{
    struct job *job = context;
    if (index < job->asked_for)
        return 1;
    tool_fail(STATUS_OK, "warning: '%s' of the trace is not in the input", job->roots[index]);
    job->unknown++;
    return 0;
}

static bool parse_threads(const char *text, size_t *threads)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    *threads = value;
    return *text >= '0' && *text <= '9' && !*end && !errno && value > 0 && value <= 1024;
}

/* The environment's word is a wish: what is wrong with it is said, and it is ignored. */
static bool choose_threads(const struct settings *settings, size_t *threads)
{
    const char *wish = getenv("TENON_IMAGE_THREADS");
    if (settings->threads)
        return parse_threads(settings->threads, threads) ||
               (tool_fail(STATUS_USAGE, "option '--threads': '%s' is not a number from 1 to 1024", settings->threads),
                false);
    if (wish && parse_threads(wish, threads))
        return true;
    if (wish && *wish)
        tool_fail(STATUS_OK, "warning: TENON_IMAGE_THREADS is '%s', not a number from 1 to 1024", wish);
    *threads = tn__os_cores();
    return true;
}

static uint64_t wanted_outputs(const struct settings *settings)
{
    uint64_t outputs = 0;
    for (int i = 0; i < settings->item_count; i++)
        for (size_t k = 0; k < KINDS; k++)
            if (settings->items[i].option && strcmp(settings->items[i].option, "--emit") == 0 &&
                strcmp(settings->items[i].value, kinds[k].word) == 0)
                outputs |= UINT64_C(1) << kinds[k].output;
    return outputs ? outputs : 1 << TN_IMAGE_OBJECTS;
}

/* ---- what comes out ---- */

static bool write_output(const char *name, const char *suffix, const struct tn_buffer *content)
{
    size_t size = strlen(name) + strlen(suffix) + 2;
    char *path = malloc(size);
    if (!path)
        return out_of_memory();
    snprintf(path, size, *suffix ? "%s.%s" : "%s", name, suffix);
    bool good = tool_write(path, content->data, content->size);
    free(path);
    return good;
}

static bool write_all(const struct job *job, uint64_t outputs)
{
    bool single = (outputs & (outputs - 1)) == 0;
    for (size_t k = 0; k < KINDS; k++) {
        const char *suffix = single || kinds[k].output == TN_IMAGE_OBJECTS ? "" : kinds[k].word;
        if ((outputs >> kinds[k].output & 1) &&
            !write_output(job->settings->output, suffix, &job->out[kinds[k].output]))
            return false;
    }
    return true;
}

static void print_stats(const struct tn_image_stats *stats)
{
    fprintf(stderr,
            "functions in the tables  %" PRIu64 "\nversions                 %" PRIu64
            "\nslots                    %" PRIu64 "\nshards                   %" PRIu64
            "\nprepare                  %.3f ms\ncompile                  %.3f ms\nwrite                    %.3f ms\n",
            stats->functions, stats->versions, stats->slots, stats->shards, (double)stats->prepare_ns / 1e6,
            (double)stats->compile_ns / 1e6, (double)stats->write_ns / 1e6);
}

static int build(struct job *job)
{
    const struct settings *settings = job->settings;
    struct tn_error err;
    struct tn_cpu host = {.size = sizeof host};
    struct tn_image_stats stats = {.size = sizeof stats};
    struct tn_image_options options = {
        .size = sizeof options,
        .name = settings->image_name,
        .triple = settings->triple,
        .targets = settings->targets ? settings->targets : getenv("TENON_CPU_TARGET"),
        .native = &host,
        .roots = (const char *const *)job->roots,
        .root_count = job->root_count,
        .opt_level = settings->opt_level,
        .outputs = wanted_outputs(settings),
        .unknown_root = skip_unknown,
        .context = job,
    };
    if (!choose_threads(settings, &options.threads))
        return STATUS_USAGE;
    if (tn_cpu_host(&host, &err) || tn_cpu_limit(&host, getenv("TENON_CPU"), &err))
        return tool_fail(STATUS_FAILURE, "%s", err.text);
    if (tn_image_build(job->inputs, (size_t)settings->file_count, &options, job->out, &stats, &err))
        return tool_fail(STATUS_FAILURE, "%s", err.text);
    if (job->unknown)
        tool_fail(STATUS_OK, "warning: %zu of %zu functions of the trace are not in the input", job->unknown,
                  job->root_count - job->asked_for);
    if (settings->stats)
        print_stats(&stats);
    return write_all(job, options.outputs) ? STATUS_OK : STATUS_FAILURE;
}

int command_build(struct settings *settings)
{
    if (!settings->output)
        return tool_fail(STATUS_USAGE, "no output named; add -o OUT (- is standard output)");
    if (settings->argument_count)
        return tool_fail(STATUS_USAGE, "nothing may follow '--'");
    struct job job = {.settings = settings};
    int status = read_all(&job) ? build(&job) : STATUS_FAILURE;
    for (size_t i = 0; i < TN_IMAGE_OUTPUTS; i++)
        tn_buffer_free(&job.out[i]);
    for (int i = 0; job.files && i < settings->file_count; i++)
        if (job.files[i].bytes)
            tool_release(&job.files[i]);
    for (size_t i = 0; i < job.root_count; i++)
        free(job.roots[i]);
    free(job.roots);
    free(job.files);
    free(job.inputs);
    return status;
}
