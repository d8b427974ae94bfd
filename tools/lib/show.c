/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Text or JSON, as show.h describes. */

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "lib/show.h"

/* ---- strings ---- */

/* RFC 3629, section 4. */
size_t show_character(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if (*bytes < 0x80)
        return 1;
    static const struct {
        unsigned char first, last, low, high; /* of the first byte; of the second one */
        size_t length;
    } rows[] = {{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
                {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
                {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (bytes[0] < rows[i].first || bytes[0] > rows[i].last)
            continue;
        if (length < rows[i].length || bytes[1] < rows[i].low || bytes[1] > rows[i].high)
            return 0;
        for (size_t k = 2; k < rows[i].length; k++)
            if ((bytes[k] & 0xc0) != 0x80)
                return 0;
        return rows[i].length;
    }
    return 0;
}

void show_quoted(FILE *out, const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    putc('"', out);
    for (size_t i = 0, size; i < length; i += size) {
        size = show_character(text + i, length - i);
        if (bytes[i] == '"' || bytes[i] == '\\')
            fprintf(out, "\\%c", bytes[i]);
        else if (!size || bytes[i] < ' ' || bytes[i] == 0x7f)
            fprintf(out, "\\u%04x", bytes[i]);
        else
            fwrite(bytes + i, 1, size, out);
        size += !size;
    }
    putc('"', out);
}

/* ---- values ---- */

void show_plain(const struct show *show, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!show->json)
        vfprintf(show->out, format, arguments);
    va_end(arguments);
}

/* What comes before a value of JSON: a comma, a line of its own near the top, the key. */
static void begin_value(struct show *show, const char *key)
{
    enum { DEPTH_OF_LINES = 4 };
    uint64_t bit = UINT64_C(1) << show->depth;
    if (show->filled & bit)
        putc(',', show->out);
    if (show->depth && (show->depth <= DEPTH_OF_LINES && (show->lists & bit || show->depth < DEPTH_OF_LINES)))
        fprintf(show->out, "\n%*s", (int)show->depth, "");
    show->filled |= bit;
    if (!key)
        return;
    show_quoted(show->out, key, strlen(key));
    putc(':', show->out);
}

void show_number(struct show *show, const char *key, int width, uint64_t number)
{
    if (show->json)
        begin_value(show, key);
    fprintf(show->out, "%*" PRIu64, show->json ? 0 : width, number);
}

void show_text(struct show *show, const char *key, int width, const char *text)
{
    if (!show->json) {
        fprintf(show->out, "%-*s", width, text);
        return;
    }
    begin_value(show, key);
    show_quoted(show->out, text, strlen(text));
}

void show_address(struct show *show, const char *key, int width, uint64_t address)
{
    if (!show->json) {
        fprintf(show->out, "%#*" PRIx64, width, address);
        return;
    }
    begin_value(show, key);
    fprintf(show->out, "\"0x%" PRIx64 "\"", address);
}

void show_flag(struct show *show, const char *key, bool value, const char *words)
{
    if (show->json)
        begin_value(show, key);
    fputs(show->json ? (value ? "true" : "false") : value ? words : "", show->out);
}

/* ---- nesting ---- */

static void open_bracket(struct show *show, const char *key, bool is_list)
{
    if (!show->json)
        return;
    begin_value(show, key);
    putc(is_list ? '[' : '{', show->out);
    uint64_t bit = UINT64_C(1) << ++show->depth;
    show->lists = is_list ? show->lists | bit : show->lists & ~bit;
    show->filled &= ~bit;
}

void show_list(struct show *show, const char *key)
{
    open_bracket(show, key, true);
}

void show_item(struct show *show, const char *key)
{
    open_bracket(show, key, false);
}

void show_end(struct show *show)
{
    if (!show->json)
        return;
    putc(show->lists >> show->depth & 1 ? ']' : '}', show->out);
    if (!--show->depth)
        putc('\n', show->out);
}

void show_end_to(struct show *show, unsigned depth)
{
    while (show->json && show->depth > depth)
        show_end(show);
}
