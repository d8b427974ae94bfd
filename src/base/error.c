/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The one error list of tenon/base.h, and the only place that formats error texts. */

#include <stdio.h>

#include "base.h"

struct code_text {
    int code;
    const char *name, *text;
};

static const struct code_text codes[] = {{TN_OK, "TN_OK", "no error"},
#define TN_X(name, code, text) {code, #name, text},
                                         TN_ERROR_LIST(TN_X)
#undef TN_X
};

static const struct code_text *find_code(int code)
{
    for (size_t i = 0; i < TN_COUNT(codes); i++)
        if (codes[i].code == code)
            return &codes[i];
    return NULL;
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

/* Formats at `at`. Text that does not fit ends with an ellipsis, so that truncation is visible. */
static void format_at(struct tn_error *err, size_t at, const char *format, va_list args)
{
    static const char cut[] = "...";
    int length = vsnprintf(err->text + at, sizeof err->text - at, format, args);
    if (length < 0 || (size_t)length >= sizeof err->text - at)
        memcpy(err->text + sizeof err->text - sizeof cut, cut, sizeof cut);
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

void tn__append(struct tn_error *err, const char *format, ...)
{
    if (!err)
        return;
    va_list args;
    va_start(args, format);
    format_at(err, strnlen(err->text, sizeof err->text - 1), format, args);
    va_end(args);
}
