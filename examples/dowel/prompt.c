/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The prompt: lines are compiled and run one by one, and commands show what became of them. */

#include <editline/readline.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dowel.h"

/* ---- commands ---- */

/* With functions as programs call them. */
static void print_plain(FILE *out, const char *text, size_t size)
{
    size_t length = strlen(SYMBOL_PREFIX);
    for (const char *found; size && (found = memmem(text, size, SYMBOL_PREFIX, length)); text = found + length) {
        fwrite(text, 1, (size_t)(found - text), out);
        size -= (size_t)(found - text) + length;
    }
    fwrite(text, 1, size, out);
}

static void show_code(struct session *s, const char *function, enum tn_emit emit)
{
    char symbol[1024];
    const struct tn_jit_view_options options = {.size = sizeof options, .emit = emit, .no_debug_info = 1};
    struct tn_buffer text = {0};
    struct tn_error err;
    snprintf(symbol, sizeof symbol, SYMBOL_PREFIX "%s", function);
    if (tn_jit_view(s->jit, NULL, symbol, &options, &text, &err)) {
        fputs("dowel: ", stderr);
        print_plain(stderr, err.text, strlen(err.text));
        fputs("\n", stderr);
    } else {
        print_plain(stdout, text.data, text.size);
    }
    tn_buffer_free(&text);
}

static int show_tier(void *name, const struct tn_jit_function *function)
{
    const char *word = plain(function->name), *wanted = name;
    if (*wanted && strcmp(word, wanted) != 0)
        return 0;
    if (function->name == word || strstr(word, "..")) /* the runtime, lines, closures */
        return 0;
    if (!function->tiers[0].bytes && !function->tiers[1].bytes)
        printf("%s: not compiled\n", word);
    else
        printf("%s: tier %d (-O%d), at least %llu calls%s\n", word, function->tier, function->opt_level,
               (unsigned long long)function->calls, function->tiers[0].was_cached ? ", from the cache" : "");
    return 0;
}

static void show_tiers(struct session *s, const char *function)
{
    struct tn_error err;
    if (tn_jit_each_function(s->jit, show_tier, (void *)(uintptr_t)function, &err))
        fprintf(stderr, "dowel: %s\n", err.text);
}

static void show_heap(struct session *s, const char *rest)
{
    (void)rest;
    struct tn_heap_stats stats = {.size = sizeof stats};
    tn_heap_collect(s->heap, TN_COLLECT_FULL);
    tn_heap_stats(s->heap, &stats);
    printf("%llu bytes in use, %llu collections, the longest pause %.3f ms\n", (unsigned long long)stats.in_use,
           (unsigned long long)stats.collections, (double)stats.longest_pause_ns / 1e6);
}

static void show_ir(struct session *s, const char *function)
{
    show_code(s, function, TN_EMIT_LLVM);
}

static void show_assembly(struct session *s, const char *function)
{
    show_code(s, function, TN_EMIT_ASM);
}

static void time_line(struct session *s, const char *text)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    run_text(s, "prompt", text);
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%.3f ms\n", (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6);
}

static const struct command {
    const char *word, *argument;
    void (*run)(struct session *s, const char *rest);
} commands[] = {{":ir", " FUNCTION", show_ir},
                {":asm", " FUNCTION", show_assembly},
                {":tier", " [FUNCTION]", show_tiers},
                {":time", " STATEMENT", time_line},
                {":gc", "", show_heap}};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void command(struct session *s, const char *line)
{
    size_t length = strcspn(line, " ");
    for (const struct command *row = commands; row < commands + COMMANDS; row++)
        if (strlen(row->word) == length && strncmp(row->word, line, length) == 0) {
            row->run(s, line + length + strspn(line + length, " "));
            return;
        }
    for (size_t i = 0; i < COMMANDS; i++)
        printf("%s%s%s", commands[i].word, commands[i].argument, i + 1 < COMMANDS ? ", " : "\n");
}

/* ---- lines ---- */

/* A line, or NULL at the end; from a file or a pipe without a prompt. */
static char *read_line(const char *prompt)
{
    char *line = NULL;
    size_t size = 0;
    if (isatty(0))
        return readline(prompt);
    if (getline(&line, &size, stdin) >= 0) {
        line[strcspn(line, "\n")] = 0;
        return line;
    }
    free(line);
    return NULL;
}

/* Lines, until every bracket is closed. They are kept at once: what they do may end the process. */
static char *read_text(const char *history)
{
    char *text = read_line("dowel> ");
    while (text && !is_complete(text)) {
        char *more = read_line("  ...> "), *both = NULL;
        if (more && asprintf(&both, "%s\n%s", text, more) < 0)
            both = NULL;
        free(more);
        if (!both)
            break;
        free(text);
        text = both;
    }
    if (text && *text && isatty(0)) {
        add_history(text);
        write_history(history);
    }
    return text;
}

bool run_prompt(struct session *s)
{
    bool good = true;
    char history[4096];
    snprintf(history, sizeof history, "%s/.dowel_history", getenv("HOME") ? getenv("HOME") : ".");
    if (isatty(0))
        read_history(history);
    s->compiler.shows_values = true;
    for (char *text; (text = read_text(history)); free(text))
        if (text[0] == ':')
            command(s, text);
        else
            good &= run_text(s, "prompt", text);
    return good || isatty(0);
}
