/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The command.
 *
 *     dowel                         a prompt
 *     dowel FILE                    runs a program
 *     dowel build FILE -o PROGRAM   writes an executable
 *     dowel package FILE -o IMAGE   writes a package */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dowel.h"

static const char usage[] = "usage: dowel [--cache FOLDER] [--gdb] [--perf FOLDER] [--limit LIMIT] [FILE]\n"
                            "       dowel build FILE -o PROGRAM\n"
                            "       dowel package FILE -o IMAGE\n"
                            "LIMIT is of memory, as 100M, or of time, as 5s\n";

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    size_t size = 1;
    char *text = calloc(1, size);
    bool good = file && text && (getdelim(&text, &size, 0, file) >= 0 || feof(file));
    if (file)
        fclose(file);
    if (good)
        return text;
    free(text);
    return NULL;
}

static bool run_file(struct session *s, const char *path)
{
    char *text = read_file(path);
    if (!text)
        return fprintf(stderr, "dowel: %s cannot be read\n", path), false;
    bool good = run_text(s, path, text);
    free(text);
    return good;
}

/* ---- the command line ---- */

struct arguments {
    struct session_options session;
    const char *file, *out;
};

/* "100M": bytes; "5s": seconds. */
static bool read_limit(const char *text, struct session_options *options)
{
    char *unit;
    unsigned long number = strtoul(text, &unit, 10);
    if (!number || number > 1 << 20 || !*unit || unit[1])
        return false;
    if (*unit == 's')
        options->seconds = (unsigned)number;
    else if (*unit == 'M')
        options->bytes = (uint64_t)number << 20;
    return *unit == 's' || *unit == 'M';
}

/* An option that has a value. */
static bool read_option(const char *name, const char *value, struct arguments *arguments)
{
    if (strcmp(name, "--cache") == 0)
        arguments->session.cache = value;
    else if (strcmp(name, "--perf") == 0)
        arguments->session.perf = value;
    else if (strcmp(name, "-o") == 0)
        arguments->out = value;
    else
        return strcmp(name, "--limit") == 0 && read_limit(value, &arguments->session);
    return true;
}

static bool read_arguments(int argc, char **argv, struct arguments *arguments)
{
    *arguments = (struct arguments){0};
    arguments->session.builds = argc > 1 && strcmp(argv[1], "build") == 0;
    arguments->session.packs = argc > 1 && strcmp(argv[1], "package") == 0;
    bool writes = arguments->session.builds || arguments->session.packs;
    for (int i = 1 + writes; i < argc; i++)
        if (argv[i][0] != '-' && !arguments->file)
            arguments->file = argv[i];
        else if (strcmp(argv[i], "--gdb") == 0)
            arguments->session.gdb = true;
        else if (i + 1 == argc || !read_option(argv[i], argv[i + 1], arguments))
            return false;
        else
            i++;
    return writes == (arguments->out != NULL) && (arguments->file || !writes);
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    struct session session;
    struct tn_error err;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* what ends the program early loses no line */
    if (!read_arguments(argc, argv, &arguments))
        return fputs(usage, stderr), 2;
    if (!open_session(&session, &arguments.session, &err))
        return fprintf(stderr, "dowel: %s\n", err.text), 1;
    bool good = arguments.file ? run_file(&session, arguments.file) : run_prompt(&session);
    if (good && arguments.session.builds)
        good = build(&session, arguments.file, arguments.out);
    else if (good && arguments.session.packs)
        good = build_package(&session, arguments.out);
    else if (good && arguments.file && find_function(&session.compiler, "main"))
        good = run_text(&session, arguments.file, "main()");
    close_session(&session);
    return good ? 0 : 1;
}
