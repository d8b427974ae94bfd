/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The files of `tenon build`: build_image.c the command, build_roots.c what to keep, build_stubs.c what executables
 * begin with, build_paths.c whether a path of this machine is in the result, build_ninja.c the work as a build file. */

#ifndef TENON_TOOL_BUILD_IMAGE_H
#define TENON_TOOL_BUILD_IMAGE_H

#include "lib/tool.h"

/* The words of --kind. */
enum kind { KIND_ARCHIVE, KIND_SHARED, KIND_IMAGE, KIND_EXE };

struct job {
    const struct settings *settings;
    struct file *files; /* as many as settings->file_count */
    struct tn_image_input *inputs;
    struct tn_image_shard *finished;
    size_t input_count, finished_count;
    struct tn_input *objects; /* to be linked, in the order of the command line */
    size_t object_count;
    size_t image_at;            /* which of them is the image: it takes the place of the first input with IR */
    char **roots, **signatures; /* of these, NULL: unknown */
    size_t root_count, root_capacity;
    size_t asked_for, unknown; /* roots: the first ones, by --root; those of the trace that are not there */
    char **replaceable;
    size_t replaceable_count, replaceable_capacity;
    struct tn_image_dependency *dependencies;
    size_t dependency_count;
    char *image_targets; /* of the first one */
    struct tn_image_value *values;
    size_t value_count;
    struct file saved;       /* of --objects */
    struct file *used_files; /* of --use, and the same as inputs */
    struct tn_image_input *used;
    size_t used_count;
    struct tn_image_options options;
    size_t shard;        /* of --shard */
    struct offer *offer; /* of executables */
    struct tn_buffer out[TN_IMAGE_OUTPUTS];
    uint64_t stub_end;                          /* of an executable: where the contents of its stub end */
    uint64_t begin, compile_begin, compile_end; /* times of the build, for --time-trace */
};

/* ---- build_image.c ---- */

/* The suffix of the file that gets an output, of several; "" for the one that has the name of -o. */
const char *tool_image_suffix(const struct job *job, enum tn_image_output output);

/* ---- build_roots.c ---- */

/* False: an error was reported. */
bool tool_read_roots(struct job *job);
void tool_free_roots(struct job *job);

/* For struct tn_image_options; the context is the job. */
int tool_unknown_root(void *context, size_t index, int is_local);
void tool_warn_unknown_roots(const struct job *job);

/* ---- build_stubs.c ---- */

/* Those of --stubs, or what the command carries; the smallest one is 0. */
bool tool_has_stub(const struct settings *settings, size_t index);
/* The bytes are malloc's, also if the result is false: an error was reported. */
bool tool_unfold_stub(const struct settings *settings, size_t index, struct tn_buffer *out);

/* ---- build_paths.c ---- */

/* False: what was built contains a path of this machine, which was reported. */
bool tool_check_paths(const struct job *job);

/* ---- report.c ---- */

/* Writes the page about what was built to the file of --report. False: an error was reported. */
bool tool_write_report(const struct job *job);

/* ---- build_ninja.c ---- */

/* Writes the build file. False: an error was reported. */
bool tool_write_ninja(const struct job *job, size_t shards);

#endif
