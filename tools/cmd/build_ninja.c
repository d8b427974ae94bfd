/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A build file for ninja(1) with the commands that build an image: one for each shard, and the one that makes the image
 * of them. */

#include <stdlib.h>
#include <string.h>

#include "cmd/build_image.h"

/* Options that the commands get in other ways, or that do not affect what is built. */
static const char *const left_out[] = {"-o",      "--ninja", "--shard",   "--shards",     "--threads",
                                       "--stats", "--json",  "--timings", "--time-trace", "--time-granularity",
                                       "--help"};

/* Environment variables that affect what is built: the commands get their present values. */
static const char *const variables[] = {"TENON_LLVM_ARGS", "TENON_CPU"};

enum { VARIABLES = sizeof variables / sizeof variables[0] };

/* ---- quoting ---- */

/* A word of a command: for the shell, within a value of ninja's, in which $ is special. */
static void put_word(FILE *out, const char *text)
{
    putc('\'', out);
    for (const char *at = text; *at; at++)
        fputs(*at == '\'' ? "'\\''" : *at == '$' ? "$$" : (char[]){*at, 0}, out);
    putc('\'', out);
}

/* A path in a build line; ninja quotes it for the shell. */
static void put_path(FILE *out, const char *path)
{
    for (const char *at = path; *at; at++)
        fprintf(out, strchr("$ :", *at) ? "$%c" : "%c", *at);
}

/* ---- the file ---- */

static bool put_option(void *context, const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++)
        if (strcmp(name, left_out[i]) == 0)
            return true;
    fprintf(context, " %s", name);
    if (*value) {
        putc(strncmp(name, "--", 2) == 0 ? '=' : ' ', context);
        put_word(context, value);
    }
    return true;
}

static void put_rules(FILE *out, const struct job *job, size_t shards)
{
    const struct settings *settings = job->settings;
    fputs("# Written by `tenon build --ninja`. Each step is a command that needs its inputs and tenon, and nothing "
          "else.\n\n"
          "ninja_required_version = 1.3\n\n"
          "tenon = ",
          out);
    for (size_t i = 0; i < VARIABLES; i++)
        if (getenv(variables[i])) {
            fprintf(out, "%s=", variables[i]);
            put_word(out, getenv(variables[i]));
            putc(' ', out);
        }
    put_word(out, settings->program);
    fprintf(out, "\noptions = --shards %zu", shards);
    tool_each_option(FOR_BUILD, settings, put_option, out);
    fputs("\n\nrule shard\n  command = $tenon build $options --shard $shard -o $out $in\n  description = SHARD $out\n\n"
          "rule image\n  command = $tenon build $options -o ",
          out);
    put_word(out, settings->output);
    fputs(" $in\n  description = IMAGE $out\n\n", out);
}

static void put_inputs(FILE *out, const struct settings *settings)
{
    for (int i = 0; i < settings->file_count; i++) {
        putc(' ', out);
        put_path(out, settings->files[i]);
    }
}

static const char *put_dependency(FILE *out, const char *before, const char *path)
{
    if (!path)
        return before;
    fprintf(out, "%s ", before);
    put_path(out, path);
    return "";
}

/* Dependencies of a step that are not among its inputs. */
static void put_dependencies(FILE *out, const struct settings *settings)
{
    bool is_path = strchr(settings->program, '/') != NULL;
    const char *before = put_dependency(out, " |", is_path ? settings->program : NULL);
    before = put_dependency(out, before, settings->objects);
    for (int i = 0; i < settings->item_count; i++)
        if (tool_is_item(&settings->items[i], "--trace") || tool_is_item(&settings->items[i], "--depends") ||
            tool_is_item(&settings->items[i], "--use"))
            before = put_dependency(out, before, settings->items[i].value);
        else if (tool_is_item(&settings->items[i], "--replaceable") && settings->items[i].value[0] == '@')
            before = put_dependency(out, before, settings->items[i].value + 1);
}

static void put_shard_name(FILE *out, const struct settings *settings, size_t shard)
{
    put_path(out, settings->output);
    fprintf(out, ".shard-%zu", shard);
}

static void put_shard(FILE *out, const struct settings *settings, size_t shard)
{
    fputs("build ", out);
    put_shard_name(out, settings, shard);
    fputs(": shard", out);
    put_inputs(out, settings);
    put_dependencies(out, settings);
    fprintf(out, "\n  shard = %zu\n", shard);
}

static void put_image(FILE *out, const struct job *job, size_t shards)
{
    const struct settings *settings = job->settings;
    fputs("build", out);
    for (size_t output = 0; output < TN_IMAGE_OUTPUTS; output++)
        if (job->options.outputs >> output & 1) {
            const char *suffix = tool_image_suffix(job, output);
            putc(' ', out);
            put_path(out, settings->output);
            fprintf(out, *suffix ? ".%s" : "%s", suffix);
        }
    fputs(": image", out);
    put_inputs(out, settings);
    for (size_t i = 0; i < shards; i++) {
        putc(' ', out);
        put_shard_name(out, settings, i);
    }
    put_dependencies(out, settings);
    putc('\n', out);
}

/* Standard input can be read once, and ninja has no way to write a line break. */
static bool can_stand_there(const struct settings *settings)
{
    const char *standard = strcmp(settings->output, "-") == 0 ? "-o" : NULL, *broken = NULL;
    const char *const others[] = {settings->output, settings->targets, settings->program, getenv(variables[0]),
                                  getenv(variables[1])};
    for (int i = 0; i < settings->item_count; i++) { /* files are among them */
        const struct item *item = &settings->items[i];
        bool is_input = !item->option || strcmp(item->option, "--trace") == 0 || strcmp(item->option, "--use") == 0;
        standard = is_input && strcmp(item->value, "-") == 0 ? item->option ? item->option : "FILE" : standard;
        broken = strchr(item->value, '\n') ? item->value : broken;
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        broken = others[i] && strchr(others[i], '\n') ? others[i] : broken;
    if (standard)
        tool_fail(STATUS_FAILURE, "--ninja: commands that run by themselves need names, not '-' for %s", standard);
    else if (broken)
        tool_fail(STATUS_FAILURE, "--ninja: '%s' has a line break in it", broken);
    return !standard && !broken;
}

bool tool_write_ninja(const struct job *job, size_t shards)
{
    char *text = NULL;
    size_t size = 0;
    if (!can_stand_there(job->settings))
        return false;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    put_rules(out, job, shards);
    for (size_t i = 0; i < shards; i++)
        put_shard(out, job->settings, i);
    putc('\n', out);
    put_image(out, job, shards);
    bool good = fclose(out) == 0 ? tool_write(job->settings->ninja, text, size)
                                 : (tool_fail(STATUS_FAILURE, "out of memory"), false);
    free(text);
    return good;
}
