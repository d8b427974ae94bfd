/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The one error list of tenon/base.h, and the only place that formats error texts. */

#include <stdio.h>

#include "base.h"

/* Codes are small negative numbers without gaps. */
static const struct code_text {
    const char *name, *text;
} codes[] = {{"TN_OK", "no error"},
#define TN_X(name, code, text) [-(code)] = {#name, text},
             TN_ERROR_LIST(TN_X)
#undef TN_X
};

static const struct code_text *find_code(int code)
{
    return code <= 0 && code > -(int)TN_COUNT(codes) ? &codes[-code] : NULL;
}

const char *tn_version(void)
{
    return TN_VERSION_STRING;
}

const char *tn_error_name(int code)
{
    const struct code_text *found = find_code(code);
    return found ? found->name : "TN_?";
}

const char *tn_error_string(int code)
{
    const struct code_text *found = find_code(code);
    return found ? found->text : "unknown error";
}

/* ---- what terminals must not see ---- */

/* True for what controls terminals: C0, DEL, and C1 as UTF-8 has it. */
static bool is_control(const unsigned char *c)
{
    return *c < ' ' || *c == 0x7f || (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0);
}

static void quote_one(char *text)
{
    if (!is_control((const unsigned char *)text))
        return;
    if ((unsigned char)*text == 0xc2)
        text[1] = '?';
    *text = '?';
}

void tn__quote(char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        quote_one(text + i);
}

/* Names from files may contain anything; line breaks are those of the format alone. So that the two differ, the
 * format's are replaced by a character that occurs nowhere else in the text. */
static void quote_arguments(char *text, size_t size, const char *format, va_list args)
{
    char marked[256], mark = 1;
    size_t length = strlen(format);
    while (mark < ' ' && (mark == '\n' || strchr(text, mark)))
        mark++;
    if (length < sizeof marked && mark < ' ') {
        memcpy(marked, format, length + 1);
        for (char *c = marked; (c = strchr(c, '\n'));)
            *c = mark;
        vsnprintf(text, size, marked, args);
    }
    for (size_t i = 0; text[i]; i++)
        if (text[i] == mark)
            text[i] = '\n';
        else
            quote_one(text + i);
}

/* Whether the text has control characters that the format does not have. */
static bool has_foreign(const char *text, const char *format)
{
    int lines = 0;
    for (; *format; format++)
        lines += *format == '\n';
    for (; *text; text++)
        if (is_control((const unsigned char *)text) && (*text != '\n' || lines-- == 0))
            return true;
    return false;
}

/* ---- formatting ---- */

/* Text that does not fit ends with an ellipsis, so that truncation is visible. */
static void end_cut(struct tn_error *err)
{
    static const char cut[] = "...";
    memcpy(err->text + sizeof err->text - sizeof cut, cut, sizeof cut);
}

static void format_at(struct tn_error *err, size_t at, const char *format, va_list args)
{
    char *text = err->text + at;
    size_t size = sizeof err->text - at;
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(text, size, format, args);
    if (length > 0 && has_foreign(text, format))
        quote_arguments(text, size, format, again);
    if (length < 0 || (size_t)length >= size)
        end_cut(err);
    va_end(again);
}

int tn__fail(struct tn_error *err, int code, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->code = code;
        format_at(err, 0, format, args);
        va_end(args);
    }
    return code;
}

int tn__no_memory(struct tn_error *err, const char *name)
{
    return tn__fail(err, TN_ENOMEM, "%s%sout of memory", name ? name : "", name ? ": " : "");
}

void tn__append(struct tn_error *err, const char *format, ...)
{
    if (!err)
        return;
    va_list args;
    va_start(args, format);
    format_at(err, strnlen(err->text, sizeof err->text - 1), format, args);
    va_end(args);
}

int tn__append_text(struct tn_error *err, const char *text)
{
    if (!err)
        return 0;
    size_t at = strnlen(err->text, sizeof err->text - 1), space = sizeof err->text - at, length = strlen(text);
    memcpy(err->text + at, text, length < space ? length + 1 : space);
    if (length >= space)
        end_cut(err);
    return err->code;
}
