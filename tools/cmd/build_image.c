/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon build: IR to an image, in one go, or shard by shard. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/build_image.h"
#include "lib/watch.h"

/* By the words of --emit. */
static const struct {
    const char *word;
    enum tn_image_output output;
} kinds[] = {{"obj", TN_IMAGE_OBJECTS},
             {"bc", TN_IMAGE_BITCODE},
             {"unopt-bc", TN_IMAGE_UNOPTIMIZED},
             {"asm", TN_IMAGE_ASSEMBLY}};

enum { KINDS = sizeof kinds / sizeof kinds[0], MOST_THREADS = 1024, MOST_SHARDS = 1024 };

/* ---- options ---- */

/* The environment's word is a wish: what is wrong with it is said, and it is ignored. */
static size_t default_threads(void)
{
    const char *wish = getenv("TENON_IMAGE_THREADS");
    size_t threads;
    if (wish && tool_parse_number(wish, 1, MOST_THREADS, &threads))
        return threads;
    if (wish && *wish)
        tool_fail(STATUS_OK, "warning: TENON_IMAGE_THREADS is '%s', not a number from 1 to %d", wish, MOST_THREADS);
    return tool_default_threads();
}

static uint64_t wanted_outputs(const struct settings *settings)
{
    uint64_t outputs = 0;
    for (int i = 0; i < settings->item_count; i++)
        for (size_t k = 0; k < KINDS; k++)
            if (tool_is_item(&settings->items[i], "--emit") && strcmp(settings->items[i].value, kinds[k].word) == 0)
                outputs |= UINT64_C(1) << kinds[k].output;
    return outputs ? outputs : 1 << TN_IMAGE_OBJECTS;
}

/* ---- while it lasts ---- */

/* The first call comes before any shard. */
static void note_progress(void *context, const struct tn_image_progress *p)
{
    const struct job *job = context;
    if (!p->done)
        tool_warn_undefined(job);
    tool_progress_parts(p->done, p->shards);
    if (!job->settings->timings)
        return;
    if (!p->extract_ns)
        fputs("shard     weight  extract ms    parse ms  optimise ms     emit ms\n", stderr);
    else
        fprintf(stderr, "%5" PRIu64 " %10" PRIu64 " %11.3f %11.3f %12.3f %11.3f\n", p->shard, p->weight,
                (double)p->extract_ns / 1e6, (double)p->parse_ns / 1e6, (double)p->optimize_ns / 1e6,
                (double)p->emit_ns / 1e6);
}

/* ---- taking options ---- */

static bool take_options(struct job *job)
{
    const struct settings *settings = job->settings;
    struct tn_image_options *options = &job->options;
    *options = (struct tn_image_options){
        .size = sizeof *options,
        .name = settings->image_name,
        .triple = settings->triple,
        .targets = settings->targets,
        .opt_level = settings->opt_level,
        .assembly_files = settings->assembly_files,
        .outputs = wanted_outputs(settings),
        .unknown_root = tool_unknown_root,
        .context = job,
        .observer = tool_watch_observer(),
        .progress = note_progress,
    };
    if (!settings->output)
        return tool_fail(STATUS_USAGE, "no output named; add -o OUT (- is standard output)"), false;
    if (settings->argument_count)
        return tool_fail(STATUS_USAGE, "nothing may follow '--'"), false;
    if (strcmp(settings->output, "-") == 0 && (options->outputs & (options->outputs - 1)))
        return tool_fail(STATUS_USAGE, "several kinds of --emit need names; standard output is one"), false;
    if (settings->targets && !*settings->targets)
        return tool_fail(STATUS_USAGE, "option '--targets': the string is empty"), false;
    if (settings->ninja && settings->shard)
        return tool_fail(STATUS_USAGE, "--ninja writes the commands that have --shard; only one of them can be given"),
               false;
    if ((settings->ninja || settings->shard) && tool_has_item(settings, "--workload"))
        return tool_fail(STATUS_USAGE,
                         "the commands that build shards have to agree on what was compiled: let the workload "
                         "run with TENON_TRACE_COMPILE=FILE in its environment, and give them --trace FILE"),
               false;
    if (!tool_take_number("--threads", settings->threads, 1, MOST_THREADS, &options->threads) ||
        !tool_take_number("--shards", settings->shards, 1, MOST_SHARDS, &options->shards) ||
        !tool_take_number("--shard", settings->shard, 0, MOST_SHARDS - 1, &job->shard))
        return false;
    if (!options->threads)
        options->threads = default_threads();
    return tool_check_kind(job);
}

/* ---- what goes in ---- */

static bool read_input(struct job *job, struct file *file, const char *name)
{
    if (tool_is_same_file(name, job->settings->output))
        return tool_fail(STATUS_FAILURE, "'%s' is an input; -o would replace it", name), false;
    if (!tool_read(name, file))
        return false;
    switch (file->kind) {
    case FILE_IR:
        job->inputs[job->input_count++] = (struct tn_image_input){file->name, file->bytes, file->size};
        return true;
    case FILE_SHARD:
        job->finished[job->finished_count++] = (struct tn_image_shard){file->name, file->bytes, file->size};
        return true;
    default:
        return tool_take_object(job, file);
    }
}

static bool read_all(struct job *job)
{
    size_t count = (size_t)job->settings->file_count;
    job->files = calloc(count, sizeof *job->files);
    job->inputs = calloc(count, sizeof *job->inputs);
    job->finished = calloc(count, sizeof *job->finished);
    job->objects = calloc(count + 1, sizeof *job->objects);
    if (!job->files || !job->inputs || !job->finished || !job->objects)
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    job->object_count = 1;
    for (size_t i = 0; i < count; i++)
        if (!read_input(job, &job->files[i], job->settings->files[i]))
            return false;
    if (!job->input_count)
        return tool_fail(STATUS_FAILURE, "there is no LLVM IR among the files, which shards are of"), false;
    job->options.finished = job->finished;
    job->options.finished_count = job->finished_count;
    return tool_read_roots(job) && tool_read_replaceable(job) && tool_read_dependencies(job);
}

/* ---- what comes out ---- */

const char *tool_image_suffix(const struct job *job, enum tn_image_output output)
{
    bool single = (job->options.outputs & (job->options.outputs - 1)) == 0;
    for (size_t k = 0; k < KINDS; k++)
        if (kinds[k].output == output && output != TN_IMAGE_OBJECTS && !single)
            return kinds[k].word;
    return "";
}

static bool write_output(const char *name, const char *suffix, const struct tn_buffer *content, bool is_program)
{
    size_t size = strlen(name) + strlen(suffix) + 2;
    char *path = malloc(size);
    if (!path)
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    snprintf(path, size, *suffix ? "%s.%s" : "%s", name, suffix);
    bool good = (is_program ? tool_write_program : tool_write)(path, content->data, content->size);
    free(path);
    return good;
}

static bool write_all(const struct job *job)
{
    for (size_t output = 0; output < TN_IMAGE_OUTPUTS; output++)
        if ((job->options.outputs >> output & 1) &&
            !write_output(job->settings->output, tool_image_suffix(job, output), &job->out[output],
                          job->settings->kind == KIND_EXE && output == TN_IMAGE_OBJECTS))
            return false;
    return true;
}

static void print_stats(const struct job *job, const struct tn_image_stats *stats)
{
    fprintf(stderr,
            "functions in the tables  %" PRIu64 "\nversions                 %" PRIu64
            "\nslots                    %" PRIu64 "\nshards                   %" PRIu64
            "\nthreads                  %zu\nprepare                  %.3f ms\ncompile                  %.3f ms\nwrite "
            "                   %.3f ms\n",
            stats->functions, stats->versions, stats->slots, stats->shards, job->options.threads,
            (double)stats->prepare_ns / 1e6, (double)stats->compile_ns / 1e6, (double)stats->write_ns / 1e6);
}

/* ---- the three ways ---- */

static int fail(const struct job *job, int code, const struct tn_error *err)
{
    return tool_fail_ir(job->files, (size_t)job->settings->file_count, code, err);
}

static int build_image(struct job *job)
{
    struct tn_error err;
    struct tn_image_stats stats = {.size = sizeof stats};
    if (!tool_expect_stub(job))
        return STATUS_FAILURE;
    int code = tn_image_build(job->inputs, job->input_count, &job->options, job->out, &stats, &err);
    if (code)
        return fail(job, code, &err);
    tool_warn_unknown_roots(job);
    if (job->settings->stats)
        print_stats(job, &stats);
    return tool_make_file(job) && write_all(job) ? STATUS_OK : STATUS_FAILURE;
}

static int build_shard(struct job *job)
{
    struct tn_error err;
    struct tn_image_stats stats = {.size = sizeof stats};
    int code = tn_image_build_shard(job->inputs, job->input_count, &job->options, job->shard, job->out, &stats, &err);
    if (code)
        return fail(job, code, &err);
    if (job->settings->stats)
        print_stats(job, &stats);
    return tool_write(job->settings->output, job->out->data, job->out->size) ? STATUS_OK : STATUS_FAILURE;
}

static int write_ninja(struct job *job)
{
    struct tn_error err;
    size_t shards;
    int code = tn_image_count_shards(job->inputs, job->input_count, &job->options, &shards, &err);
    if (code)
        return fail(job, code, &err);
    tool_warn_unknown_roots(job);
    return tool_write_ninja(job, shards) ? STATUS_OK : STATUS_FAILURE;
}

static int build(struct job *job)
{
    job->options.native = tool_host();
    if (!job->options.native || !tool_watch_image(job->settings) || !read_all(job))
        return STATUS_FAILURE;
    job->options.roots = (const char *const *)job->roots;
    job->options.has_only_copies = job->settings->kind != KIND_ARCHIVE && job->object_count == 1;
    job->options.root_count = job->root_count;
    job->options.dependencies = job->dependencies;
    job->options.dependency_count = job->dependency_count;
    job->options.values = job->values;
    job->options.value_count = job->value_count;
    job->options.objects = job->saved.bytes;
    job->options.objects_length = job->saved.size;
    job->options.image_targets = job->image_targets;
    return job->settings->ninja ? write_ninja(job) : job->settings->shard ? build_shard(job) : build_image(job);
}

int command_build(struct settings *settings)
{
    const char *usual = getenv("TENON_CPU_TARGET");
    settings->targets = settings->targets || !usual || !*usual ? settings->targets : usual;
    struct job job = {.settings = settings};
    int status = take_options(&job) ? build(&job) : STATUS_USAGE;
    tool_progress_stop();
    for (size_t i = 0; i < TN_IMAGE_OUTPUTS; i++)
        tn_buffer_free(&job.out[i]);
    for (int i = 0; job.files && i < settings->file_count; i++)
        if (job.files[i].bytes)
            tool_release(&job.files[i]);
    tool_free_offer(&job);
    tool_free_roots(&job);
    tool_free_replaceable(&job);
    tool_free_dependencies(&job);
    free(job.files);
    free(job.inputs);
    free(job.finished);
    free(job.objects);
    return status;
}
