/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compiling IR, for every command that takes it. */

#include <stdlib.h>
#include <string.h>

#include "codegen/compile/view.h"
#include "lib/watch.h"

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
        .observer = tool_watch_observer(),
        .polls = settings->polls,
        .passes = settings->passes,
        .native = tool_host(),
        .verify_ir = verifies_ir(),
    };
    return options->native;
}

/* What makes IR, or an object, of sources that are often given instead. */
static const struct {
    const char *suffix, *advice;
} sources[] = {
    {".c", "C source: clang -O1 -emit-llvm -c"},
    {".i", "C source: clang -O1 -emit-llvm -c"},
    {".cc", "C++ source: clang++ -O1 -emit-llvm -c"},
    {".cpp", "C++ source: clang++ -O1 -emit-llvm -c"},
    {".cxx", "C++ source: clang++ -O1 -emit-llvm -c"},
    {".C", "C++ source: clang++ -O1 -emit-llvm -c"},
    {".rs", "Rust source: rustc --emit=llvm-bc"},
    {".s", "assembly: cc -c"},
    {".S", "assembly: cc -c"},
};

static const char *advice_for(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        size_t end = strlen(sources[i].suffix);
        if (length > end && strcmp(name + length - end, sources[i].suffix) == 0)
            return sources[i].advice;
    }
    return NULL;
}

void tool_explain_ir(const struct file *file, int code)
{
    const char *advice = advice_for(file->name);
    if (code == TN_ECOMPILE && is_guess(file))
        tool_fail(STATUS_FAILURE, "'%s' was read as IR text: its first bytes are those of no other kind%s%s",
                  file->name, advice ? "; " : "", advice ? advice : "");
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
    int rc = tn_compile(file->name, file->bytes, file->size, &options, out, &one, &error);
    if (rc) {
        tool_fail(STATUS_FAILURE, "%s", error.text);
        tool_explain_ir(file, rc);
        return false;
    }
    stats->parse_ns += one.parse_ns;
    stats->optimize_ns += one.optimize_ns;
    stats->emit_ns += one.emit_ns;
    stats->functions += one.functions;
    stats->instructions += one.instructions;
    return true;
}
