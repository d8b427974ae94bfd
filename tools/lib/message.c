/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the command says of itself on standard error, and quoting on standard output. */

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "lib/watch.h"

static const char *command; /* that is running; NULL: none yet */

void tool_name_command(const char *name)
{
    command = name;
}

/* ---- names from files, which may contain anything ---- */

static ssize_t write_quoted(void *stream, const char *bytes, size_t size)
{
    char text[1024];
    size_t done = 0;
    while (done < size) {
        size_t part = size - done < sizeof text ? size - done : sizeof text;
        for (size_t i = 0; i < part; i++) {
            unsigned char c = (unsigned char)bytes[done + i];
            text[i] = (c < ' ' && c != '\n' && c != '\t') || c == 0x7f ? '?' : (char)c;
        }
        if (fwrite(text, 1, part, stream) != part)
            return 0;
        done += part;
    }
    return fflush(stream) ? 0 : (ssize_t)size;
}

void tool_quote_output(void)
{
    static FILE *quoted;
    if (!quoted)
        quoted = fopencookie(stdout, "w", (cookie_io_functions_t){.write = write_quoted});
    if (quoted)
        stdout = quoted;
}

/* ---- messages ---- */

/* Colours are for terminals that have some, and for users who want them (no-color.org). */
static bool has_colours(void)
{
    const char *refused = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) && (!refused || !*refused) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
}

/* "tenon COMMAND: ", red before errors and magenta before warnings and notes. */
static void print_prefix(bool is_error)
{
    bool coloured = has_colours();
    fprintf(stderr, "%stenon%s%s:%s ",
            !coloured  ? ""
            : is_error ? "\033[1;31m"
                       : "\033[1;35m",
            command ? " " : "", command ? command : "", coloured ? "\033[0m" : "");
}

int tool_fail(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    tool_progress_hold();
    print_prefix(status != STATUS_OK);
    char *text = NULL;
    int length = vasprintf(&text, format, arguments);
    for (int i = 0; i < length; i++)
        if (text[i] != '\n') /* names in it were quoted where they came from; these are the command's own arguments */
            tn__quote(text + i, 1);
    char *spelled = length >= 0 ? tool_spell_names(text) : NULL;
    if (length >= 0)
        fputs(spelled ? spelled : text, stderr);
    free(spelled);
    free(text);
    fputc('\n', stderr);
    tool_progress_release();
    va_end(arguments);
    return status;
}
