/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compiling IR, for every command that takes it. */

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "codegen/compile/view.h"
#include "lib/watch.h"
#include "tenon_remote.h"

/* True if nothing but our guess says that the file holds IR text. */
static bool is_guess(const struct file *file)
{
    size_t length = strlen(file->name);
    return file->is_text && (length < 3 || strcmp(file->name + length - 3, ".ll") != 0);
}

/* For tests. */
static bool verifies_ir(void)
{
    const char *wish = getenv("TENON_VERIFY_IR");
    return wish && strcmp(wish, "1") == 0;
}

bool tool_compile_options(const struct settings *settings, struct tn_compile_options *options)
{
    *options = (struct tn_compile_options){
        .size = sizeof(struct tn_compile_options),
        .triple = settings->triple,
        .cpu = settings->cpu,
        .features = settings->features,
        .opt_level = settings->opt_level,
        .reloc_model = (enum tn_reloc_model)settings->reloc_model,
        .code_model = (enum tn_code_model)settings->code_model,
        .emit = (enum tn_emit)settings->emit,
        .function_sections = settings->function_sections,
        .assembly_files = settings->assembly_files,
        .baseline = (uint64_t)settings->baseline,
        .observer = tool_watch_observer(),
        .polls = settings->polls,
        .passes = settings->passes,
        .native = tool_host(),
        .verify_ir = verifies_ir(),
    };
    return options->native;
}

#define CLANG   "clang -O1 -emit-llvm -c"
#define CLANGXX "clang++ -O1 -emit-llvm -c"
#define RUSTC   "rustc -O --emit=llvm-bc"
#define CC      "cc -c"

/* Programs that make IR, or an object, of sources that are often given by mistake. */
static const struct source {
    const char *suffix, *language, *compiler, *made;
} sources[] = {
    {".c", "C", CLANG, ".bc"},       {".i", "C", CLANG, ".bc"},       {".cc", "C++", CLANGXX, ".bc"},
    {".cpp", "C++", CLANGXX, ".bc"}, {".cxx", "C++", CLANGXX, ".bc"}, {".c++", "C++", CLANGXX, ".bc"},
    {".C", "C++", CLANGXX, ".bc"},   {".ii", "C++", CLANGXX, ".bc"},  {".rs", "Rust", RUSTC, ".bc"},
    {".s", "assembly", CC, ".o"},    {".S", "assembly", CC, ".o"},
};

/* The row for a file of this name; *stem is the length of the name without the suffix. */
static const struct source *source_of(const char *name, size_t *stem)
{
    size_t length = strlen(name);
    for (const struct source *s = sources; s < sources + TN_COUNT(sources); s++) {
        size_t end = strlen(s->suffix);
        *stem = length - end;
        if (length > end && strcmp(name + *stem, s->suffix) == 0)
            return s;
    }
    return NULL;
}

bool tool_explain_source(const struct file *file)
{
    size_t stem;
    const struct source *source = is_guess(file) ? source_of(file->name, &stem) : NULL;
    if (source)
        tool_fail(STATUS_FAILURE, "'%s' is %s, which has to be compiled first:\n    %s %s -o %.*s%s", file->name,
                  source->language, source->compiler, file->name, (int)stem, file->name, source->made);
    return source;
}

int tool_fail_ir(const struct file *files, size_t count, int code, const struct tn_error *error)
{
    tool_fail(STATUS_FAILURE, "%s", error->text);
    for (const struct file *file = files; code == TN_ECOMPILE && file < files + count; file++) {
        size_t length = strlen(file->name);
        bool is_meant = strncmp(error->text, file->name, length) == 0 && error->text[length] == ':';
        if (is_meant && is_guess(file) && !tool_explain_source(file))
            tool_fail(STATUS_FAILURE, "'%s' was read as IR text: its first bytes are those of no other kind",
                      file->name);
    }
    return STATUS_FAILURE;
}

bool tool_compile(const struct file *file, const struct settings *settings, struct tn__view *view,
                  struct tn_buffer *out, struct tn_compile_stats *stats)
{
    struct tn_compile_options options;
    struct tn_compile_stats one = {.size = sizeof one};
    struct tn_error error;
    if (!tool_compile_options(settings, &options))
        return false;
    if (view) {
        options.hook = tn__view_hook;
        options.hook_context = view;
    }
    const struct tn_compiler *server = tool_isolated();
    int rc = file->kind == FILE_FLAT ? tool_compile_flat(file, &options, out, &one, &error)
             : server
                 ? tn_compile_server_compile(server, file->name, file->bytes, file->size, &options, out, &one, &error)
                 : tn_compile(file->name, file->bytes, file->size, &options, out, &one, &error);
    if (rc) {
        tool_fail_ir(file, 1, rc, &error);
        return false;
    }
    stats->parse_ns += one.parse_ns;
    stats->optimize_ns += one.optimize_ns;
    stats->emit_ns += one.emit_ns;
    stats->functions += one.functions;
    stats->instructions += one.instructions;
    stats->baseline_functions += one.baseline_functions;
    stats->baseline_left += one.baseline_left;
    stats->baseline_ns += one.baseline_ns;
    return true;
}
