/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon build: IR to an image, in one go, or shard by shard. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <elf.h>
#include <stdio.h>
#include <errno.h>

#include "base/os.h"
#include "cmd/build_image.h"
#include "lib/show.h"
#include "lib/watch.h"
#include "lib/elf_file.h"
#include "image/load/image.h"
#include "link/arch/reloc.h"
#include "link/model/object.h"

/* ---- files ---- */

/* What tenon build --kind makes of the archive with the image. */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(path, "-") == 0 ? NULL : slash ? slash + 1 : path;
}

/* The largest that Linux has on the machine; 0: the usual one. */
static uint64_t page_size_for(const struct tn_format *const *formats)
{
    const struct tn__arch *arch = formats ? (*formats)->arch : tn__arch_host;
    return arch == &tn__arch_aarch64 ? 64 << 10 : 0;
}

/* Returns a code of enum tn_code. */
static int link_file(struct job *job, enum tn_image_file kind, const struct tn_buffer *stub, struct tn_error *err)
{
    struct tn_buffer *archive = &job->out[TN_IMAGE_OBJECTS], file;
    const struct tn_format *const *formats = tool_formats_in(archive->data, archive->size);
    const struct tn_image_link_options options = {.size = sizeof options,
                                                  .name = base_name(job->settings->output),
                                                  .kind = kind,
                                                  .stub = stub ? stub->data : NULL,
                                                  .stub_length = stub ? stub->size : 0,
                                                  .image = job->settings->image_name,
                                                  .page_size = page_size_for(formats),
                                                  .formats = formats};
    job->objects[job->image_at] = (struct tn_input){
        .size = sizeof *job->objects, .name = "image", .bytes = archive->data, .length = archive->size};
    tool_outlive_limit(true); /* a file in memory is one as well */
    int code = tn_image_link(job->objects, job->object_count, &options, &file, err);
    tool_outlive_limit(false);
    if (code)
        return code;
    tn_buffer_free(archive);
    *archive = file;
    return 0;
}

static bool link_library(struct job *job, enum tn_image_file kind)
{
    struct tn_error err;
    int code = link_file(job, kind, NULL, &err);
    if (code)
        tool_fail(STATUS_FAILURE, "%s", err.text);
    if (code == TN_EUNDEF)
        tool_fail(STATUS_FAILURE, "hidden symbols are not looked for when a file is loaded; managed code that is "
                                  "compiled with -fPIC has none");
    return !code;
}

/* Of a program that the executable begins with: its segments, without its symbols. */
static uint64_t end_of_contents(const struct tn_buffer *stub)
{
    const struct file file = {.name = "the stub", .bytes = stub->data, .size = stub->size, .kind = FILE_OBJECT};
    Elf *elf = tool_elf_open(&file);
    const Elf64_Phdr *segments = elf ? elf64_getphdr(elf) : NULL;
    size_t count = 0;
    uint64_t end = 0;
    if (segments)
        elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count; i++)
        if (segments[i].p_type == PT_LOAD && segments[i].p_offset + segments[i].p_filesz > end)
            end = segments[i].p_offset + segments[i].p_filesz;
    elf_end(elf);
    return end;
}

/* With the smallest stub that has what the program needs. */
static bool link_program(struct job *job)
{
    struct tn_error err = {.text = "this tenon was built without stubs of executables"};
    int code = TN_EUNDEF;
    bool there = true;
    for (size_t i = 0; code == TN_EUNDEF && there && tool_has_stub(job->settings, i); i++) {
        struct tn_buffer stub;
        there = tool_unfold_stub(job->settings, i, &stub);
        code = there ? link_file(job, TN_IMAGE_PROGRAM, &stub, &err) : code;
        job->stub_end = there ? end_of_contents(&stub) : 0;
        free(stub.data);
    }
    if (!there)
        return false;
    if (code)
        tool_fail(STATUS_FAILURE, "%s", err.text);
    if (code == TN_EUNDEF)
        tool_fail(STATUS_FAILURE, "what an executable cannot have, the system's linker may: build --kind=archive, and "
                                  "link that");
    return !code;
}

/* Makes of the archive that was built the file that was asked for. */
static bool make_file(struct job *job)
{
    uint64_t begin = tn__os_now_ns();
    bool good = true;
    if (job->settings->kind == KIND_ARCHIVE)
        return true;
    if (job->settings->kind == KIND_EXE)
        good = link_program(job);
    else
        good = link_library(job, job->settings->kind == KIND_SHARED ? TN_IMAGE_SHARED : TN_IMAGE_LOADABLE);
    tool_time_event("link", "the file", begin, tn__os_now_ns());
    return good;
}

/* False: --kind does not go with the other options, which was reported. */
static bool check_kind(const struct job *job)
{
    if (job->settings->kind == KIND_ARCHIVE || job->options.outputs >> TN_IMAGE_OBJECTS & 1)
        return true;
    tool_fail(STATUS_USAGE, "a file is made of objects: with --kind, --emit has to have obj among others");
    return false;
}

/* Takes a file that is no IR. */
static bool take_object(struct job *job, const struct file *file)
{
    if (job->settings->kind == KIND_ARCHIVE)
        return tool_fail(STATUS_FAILURE, "'%s' is %s, not LLVM IR; give it to the linker together with the image",
                         file->name, tool_kind_name(file)),
               false;
    job->objects[job->object_count++] =
        (struct tn_input){.size = sizeof *job->objects, .name = file->name, .bytes = file->bytes, .length = file->size};
    return true;
}

/* ---- functions that can be replaced ---- */

/* tenon build --replaceable: which functions the program may redirect. */

static bool add(struct job *job, const char *name, size_t length)
{
    if (!length)
        return true;
    if (job->replaceable_count == job->replaceable_capacity) {
        size_t capacity = 2 * job->replaceable_capacity + 16;
        char **more = realloc(job->replaceable, capacity * sizeof *more);
        if (!more)
            return tool_fail(STATUS_FAILURE, "out of memory"), false;
        job->replaceable = more;
        job->replaceable_capacity = capacity;
    }
    char *copy = strndup(name, length);
    if (!copy)
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    job->replaceable[job->replaceable_count++] = copy;
    return true;
}

static bool read_file(struct job *job, const char *name)
{
    FILE *file = fopen(name, "r");
    if (!file)
        return tool_fail(STATUS_FAILURE, "cannot read '%s': %s", name, strerror(errno)), false;
    char *line = NULL;
    size_t space = 0;
    bool good = true;
    while (good && getline(&line, &space, file) >= 0)
        good = add(job, line, strcspn(line, "\n"));
    if (good && ferror(file))
        good = (tool_fail(STATUS_FAILURE, "cannot read '%s': %s", name, strerror(errno)), false);
    free(line);
    fclose(file);
    return good;
}

static bool read_list(struct job *job, const char *list)
{
    size_t before = job->replaceable_count;
    bool good = *list != '@' || read_file(job, list + 1);
    for (const char *at = list; *list != '@' && *at && good;) {
        size_t length = strcspn(at, ",");
        good = add(job, at, length);
        at += length + (at[length] == ',');
    }
    if (good && job->replaceable_count == before)
        return tool_fail(STATUS_USAGE, "--replaceable=%s names no function", list), false;
    return good;
}

/* Reads the lists of --replaceable into the options. */
static bool read_replaceable(struct job *job)
{
    const struct settings *settings = job->settings;
    for (int i = 0; i < settings->item_count; i++) {
        const char *list = settings->items[i].value;
        if (!tool_is_item(&settings->items[i], "--replaceable"))
            continue;
        if (strcmp(list, "*") == 0)
            job->options.all_replaceable = 1;
        else if (!read_list(job, list))
            return false;
    }
    job->options.replaceable = (const char *const *)job->replaceable;
    job->options.replaceable_count = job->replaceable_count;
    return true;
}

static void free_replaceable(struct job *job)
{
    for (size_t i = 0; i < job->replaceable_count; i++)
        free(job->replaceable[i]);
    free(job->replaceable);
}

/* ---- other images ---- */

/* tenon build --depends, --use, --objects, --value: other images, and what code uses of saved objects. */

static bool is_known(const struct job *job, const struct tn__image_view *view)
{
    for (size_t i = 0; i < job->dependency_count; i++) {
        const struct tn_image_dependency *row = &job->dependencies[i];
        if (strcmp(row->name, tn__image_name(view)) == 0 &&
            memcmp(row->build_id, view->header + TN__IMAGE_AT_BUILD_ID, sizeof row->build_id) == 0)
            return true;
    }
    return false;
}

static bool take(struct job *job, const struct tn__image_view *view)
{
    if (is_known(job, view))
        return true;
    struct tn_image_dependency *row = &job->dependencies[job->dependency_count];
    void *header = malloc(view->size);
    row->name = header ? strdup(tn__image_name(view)) : NULL;
    if (!row->name)
        return free(header), tool_fail(STATUS_FAILURE, "out of memory"), false;
    memcpy(header, view->header, view->size);
    memcpy(row->build_id, view->header + TN__IMAGE_AT_BUILD_ID, sizeof row->build_id);
    row->header = header;
    row->header_size = view->size;
    job->dependency_count++;
    if (!job->image_targets)
        job->image_targets = tool_image_targets(view);
    return true;
}

static bool read_one(struct job *job, const char *name)
{
    struct file file;
    struct tn__image_view view;
    struct tn__arena arena = {.from = NULL};
    struct tn_error err;
    if (!tool_read(name, &file))
        return false;
    bool found = tool_find_image(&file, &arena, &view, &err);
    if (!found)
        tool_fail(STATUS_FAILURE, *err.text ? "--depends: %s" : "--depends: there is no image in '%s'",
                  *err.text ? err.text : name);
    found = found && take(job, &view);
    tn__arena_free(&arena);
    tool_release(&file);
    return found;
}

/* SYMBOL=type:NAME or SYMBOL=root:NAME */
static bool read_value(struct job *job, const char *text)
{
    static const char *const kinds[] = {[TN_IMAGE_VALUE_TYPE] = "type:", [TN_IMAGE_VALUE_ROOT] = "root:"};
    const char *is = strchr(text, '=');
    for (uint32_t of = 0; is && is != text && of < TN_COUNT(kinds); of++) {
        size_t length = strlen(kinds[of]);
        if (strncmp(is + 1, kinds[of], length) != 0 || !is[1 + length])
            continue;
        char *symbol = strndup(text, (size_t)(is - text));
        if (!symbol)
            return tool_fail(STATUS_FAILURE, "out of memory"), false;
        job->values[job->value_count++] = (struct tn_image_value){symbol, is + 1 + length, of};
        return true;
    }
    return tool_fail(STATUS_USAGE, "--value: '%s' is neither SYMBOL=type:NAME nor SYMBOL=root:NAME", text), false;
}

static bool read_used(struct job *job, const char *name)
{
    struct file *file = &job->used_files[job->used_count];
    if (!tool_read(name, file))
        return false;
    job->used[job->used_count++] = (struct tn_image_input){file->name, file->bytes, file->size};
    if (file->kind != FILE_IR)
        tool_fail(STATUS_FAILURE, "--use: '%s' is %s, not LLVM IR", name, tool_kind_name(file));
    return file->kind == FILE_IR;
}

/* Finds the images that --depends names, and reads --use, --value and --objects. */
static bool read_dependencies(struct job *job)
{
    const struct settings *settings = job->settings;
    job->values = calloc((size_t)settings->item_count + 1, sizeof *job->values);
    job->dependencies = calloc((size_t)settings->item_count + 1, sizeof *job->dependencies);
    job->used_files = calloc((size_t)settings->item_count + 1, sizeof *job->used_files);
    job->used = calloc((size_t)settings->item_count + 1, sizeof *job->used);
    if (!job->dependencies || !job->values || !job->used_files || !job->used)
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    for (int i = 0; i < settings->item_count; i++)
        if (tool_is_item(&settings->items[i], "--depends") && !read_one(job, settings->items[i].value))
            return false;
    for (int i = 0; i < settings->item_count; i++)
        if (tool_is_item(&settings->items[i], "--use") && !read_used(job, settings->items[i].value))
            return false;
    if (job->used_count && !job->dependency_count)
        return tool_fail(STATUS_USAGE, "--use goes with --depends, which names the image that was built from it"),
               false;
    for (int i = 0; i < settings->item_count; i++)
        if (tool_is_item(&settings->items[i], "--value") && !read_value(job, settings->items[i].value))
            return false;
    return !settings->objects || tool_read(settings->objects, &job->saved);
}

static void free_dependencies(struct job *job)
{
    for (size_t i = 0; i < job->dependency_count; i++) {
        free((void *)(uintptr_t)job->dependencies[i].name);
        free((void *)(uintptr_t)job->dependencies[i].header);
    }
    for (size_t i = 0; i < job->value_count; i++)
        free((void *)(uintptr_t)job->values[i].symbol);
    for (size_t i = 0; i < job->used_count; i++)
        tool_release(&job->used_files[i]);
    free(job->used_files);
    free(job->used);
    free(job->values);
    free(job->dependencies);
    free(job->image_targets);
    if (job->saved.bytes)
        tool_release(&job->saved);
}

/* ---- undefined symbols ---- */

/* Names that an executable needs and cannot have. Executables begin with a stub around musl, while front ends read
 * glibc's headers, whose macros and inline functions call functions of glibc alone. That is known as soon as the input
 * is read, seconds before the linker can say it. It is a warning only, because optimisation removes some of these
 * calls. */

struct offer {
    struct tn_buffer bytes;
    Elf *elf;
    const Elf64_Sym *symbols;
    size_t count, strings; /* strings: the section with their names */
    FILE *missing;
    char *text;
    size_t length;
};

static bool has_symbol(const struct offer *offer, const char *wanted)
{
    for (size_t i = 0; i < offer->count; i++) {
        const Elf64_Sym *symbol = &offer->symbols[i];
        const char *name = elf_strptr(offer->elf, offer->strings, symbol->st_name);
        if (symbol->st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL && name &&
            !strcmp(name, wanted))
            return true;
    }
    return false;
}

static void note_undefined(void *context, const char *name)
{
    struct offer *offer = ((struct job *)context)->offer;
    if (!has_symbol(offer, name))
        fprintf(offer->missing, "%s %s", ftell(offer->missing) ? "," : "", name);
}

static bool read_symbols(struct offer *offer)
{
    const struct file file = {
        .name = "the stub", .bytes = offer->bytes.data, .size = offer->bytes.size, .kind = FILE_OBJECT};
    offer->elf = tool_elf_open(&file);
    Elf_Scn *section = offer->elf ? tool_elf_next(offer->elf, NULL, SHT_SYMTAB) : NULL;
    const Elf64_Shdr *header = section ? elf64_getshdr(section) : NULL;
    Elf_Data *data = header ? elf_getdata(section, NULL) : NULL;
    if (!data)
        return false;
    offer->symbols = data->d_buf;
    offer->count = data->d_size / sizeof *offer->symbols;
    offer->strings = header->sh_link;
    return true;
}

/* Has names that no stub has noted before code is compiled. The last stub has all that the others have. Other objects
 * among the inputs may define anything. */
static bool expect_stub(struct job *job)
{
    size_t last = 0;
    if (job->settings->kind != KIND_EXE || job->object_count > 1 || !tool_has_stub(job->settings, 0))
        return true;
    while (tool_has_stub(job->settings, last + 1))
        last++;
    struct offer *offer = job->offer = calloc(1, sizeof *offer);
    if (!offer || !(offer->missing = open_memstream(&offer->text, &offer->length)))
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    if (!tool_unfold_stub(job->settings, last, &offer->bytes))
        return false;
    if (read_symbols(offer))
        job->options.undefined = note_undefined;
    return job->options.undefined;
}

/* Prints these names, and what helps. */
static void warn_undefined(const struct job *job)
{
    struct offer *offer = job->offer;
    if (!offer || fflush(offer->missing) != 0 || !offer->length)
        return;
    tool_fail(STATUS_OK, "warning: unless optimisation removes them, an executable lacks:%s", offer->text);
    if (strstr(offer->text, " __"))
        tool_fail(STATUS_OK,
                  "warning: it contains musl; names that begin with __ come from glibc's headers: compile with "
                  "-U_FORTIFY_SOURCE, or against musl's headers (-nostdlibinc -isystem "
                  "/usr/include/x86_64-linux-musl)");
}

static void free_offer(struct job *job)
{
    struct offer *offer = job->offer;
    if (!offer)
        return;
    if (offer->missing)
        fclose(offer->missing);
    elf_end(offer->elf);
    free(offer->text);
    free(offer->bytes.data);
    free(offer);
}

/* ---- building ---- */

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

/* The first call comes before any shard is compiled, though shards that are inputs count as done. */
static void note_progress(void *context, const struct tn_image_progress *p)
{
    struct job *job = context;
    job->compile_end = tn__os_now_ns();
    if (!job->compile_begin) {
        job->compile_begin = job->compile_end;
        warn_undefined(job);
    }
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
        .keep_ir = settings->keeps_ir,
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
    if (settings->json && (!settings->stats || strcmp(settings->output, "-") == 0))
        return tool_fail(STATUS_USAGE, "--json needs --stats, which it prints to standard output instead of -o"), false;
    if (settings->report && (settings->ninja || settings->shard || !(options->outputs >> TN_IMAGE_OBJECTS & 1)))
        return tool_fail(STATUS_USAGE, "--report is about an image as a whole, whose --emit has obj"), false;
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
    return check_kind(job);
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
        if (!job->input_count)
            job->image_at = job->object_count++;
        job->inputs[job->input_count++] = (struct tn_image_input){file->name, file->bytes, file->size};
        return true;
    case FILE_SHARD:
        job->finished[job->finished_count++] = (struct tn_image_shard){file->name, file->bytes, file->size};
        return true;
    default:
        return take_object(job, file);
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
    for (size_t i = 0; i < count; i++)
        if (!read_input(job, &job->files[i], job->settings->files[i]))
            return false;
    if (!job->input_count)
        return tool_fail(STATUS_FAILURE, "there is no LLVM IR among the files, which shards are of"), false;
    job->options.finished = job->finished;
    job->options.finished_count = job->finished_count;
    return tool_read_roots(job) && read_replaceable(job) && read_dependencies(job);
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

static void show_stats(const struct job *job, const struct tn_image_stats *stats)
{
    struct show show = {.out = job->settings->json ? stdout : stderr, .json = job->settings->json};
    const struct {
        const char *key, *title;
        uint64_t value;
        bool is_time;
    } rows[] = {{"functions", "functions in the tables", stats->functions, false},
                {"versions", "versions", stats->versions, false},
                {"slots", "slots", stats->slots, false},
                {"shards", "shards", stats->shards, false},
                {"threads", "threads", job->options.threads, false},
                {"prepare_ns", "prepare", stats->prepare_ns, true},
                {"compile_ns", "compile", stats->compile_ns, true},
                {"write_ns", "write", stats->write_ns, true}};
    show_item(&show, NULL);
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        show_plain(&show, "%-24s ", rows[i].title);
        if (rows[i].is_time)
            show_plain(&show, "%.3f ms", (double)rows[i].value / 1e6);
        if (!rows[i].is_time || show.json)
            show_number(&show, rows[i].key, 0, rows[i].value);
        show_plain(&show, "\n");
    }
    show_end(&show);
}

/* ---- the three ways ---- */

static int fail(const struct job *job, int code, const struct tn_error *err)
{
    return tool_fail_ir(job->files, (size_t)job->settings->file_count, code, err);
}

/* The phases of the thread that builds, which are told by its progress. */
static void trace_build(const struct job *job)
{
    const uint64_t times[] = {job->begin, job->compile_begin, job->compile_end, tn__os_now_ns()};
    static const char *const names[] = {"prepare", "compile", "write"};
    for (size_t i = 0; i < TN_COUNT(names); i++)
        tool_time_event(names[i], "the image", times[i], times[i + 1]);
}

static int build_image(struct job *job)
{
    struct tn_error err;
    struct tn_image_stats stats = {.size = sizeof stats};
    if (!expect_stub(job))
        return STATUS_FAILURE;
    job->begin = tn__os_now_ns();
    int code = tn_image_build(job->inputs, job->input_count, &job->options, job->out, &stats, &err);
    if (code)
        return fail(job, code, &err);
    trace_build(job);
    tool_warn_unknown_roots(job);
    if (job->settings->stats)
        show_stats(job, &stats);
    bool good = make_file(job) && tool_check_paths(job) && write_all(job);
    return good && (!job->settings->report || tool_write_report(job)) ? STATUS_OK : STATUS_FAILURE;
}

static int build_shard(struct job *job)
{
    struct tn_error err;
    struct tn_image_stats stats = {.size = sizeof stats};
    int code = tn_image_build_shard(job->inputs, job->input_count, &job->options, job->shard, job->out, &stats, &err);
    if (code)
        return fail(job, code, &err);
    if (job->settings->stats)
        show_stats(job, &stats);
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
    job->options.root_signatures = (const char *const *)job->signatures;
    job->options.has_only_copies = job->settings->kind != KIND_ARCHIVE && job->object_count == 1;
    job->options.root_count = job->root_count;
    job->options.dependencies = job->dependencies;
    job->options.dependency_count = job->dependency_count;
    job->options.used = job->used;
    job->options.used_count = job->used_count;
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
    free_offer(&job);
    tool_free_roots(&job);
    free_replaceable(&job);
    free_dependencies(&job);
    free(job.files);
    free(job.inputs);
    free(job.finished);
    free(job.objects);
    return status;
}
