/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Mangled names of C++ and Rust in messages, which the library gives as objects have them: the spelling of the source
 * comes first, and the symbol after it in parentheses. */

#include <stdlib.h>
#include <string.h>

#include "codegen/llvm/demangle.h"
#include "lib/tool.h"

static const char symbol_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$.@";

/* A symbol within a message. */
struct symbol {
    const char *start;
    size_t length, name_length; /* without what follows @ */
    bool is_quoted, is_member;  /* as in 'NAME'; as in FILE(NAME) */
};

static struct symbol symbol_at(const char *text, const char *start)
{
    struct symbol s = {.start = start, .length = strspn(start, symbol_letters)};
    while (s.length > 1 && s.start[s.length - 1] == '.')
        s.length--;
    const char *version = memchr(start, '@', s.length);
    s.name_length = version ? (size_t)(version - start) : s.length;
    char before = start > text ? start[-1] : '\0', after = start[s.length];
    s.is_quoted = before == '\'' && after == '\'';
    s.is_member = before == '(' && after == ')';
    return s;
}

static void write_symbol(FILE *out, const struct symbol *s)
{
    char spelled[2048];
    const char *quote = s->is_quoted ? "'" : "";
    bool is_mangled = s->start[0] == '_' && strchr("ZR_", s->start[1]) && !s->is_member &&
                      tn__llvm_demangle(s->start, s->name_length, spelled, sizeof spelled);
    if (is_mangled)
        fprintf(out, "%s%s (%.*s)", spelled, quote, (int)s->length, s->start);
    else
        fprintf(out, "%.*s%s", (int)s->length, s->start, quote);
}

char *tool_spell_names(const char *text)
{
    char *spelled = NULL;
    size_t size;
    FILE *out = strstr(text, "_Z") || strstr(text, "_R") ? open_memstream(&spelled, &size) : NULL;
    if (!out)
        return NULL;
    for (const char *at = text; *at;) {
        size_t other = strcspn(at, symbol_letters);
        fwrite(at, 1, other, out);
        at += other;
        if (!*at)
            break;
        struct symbol symbol = symbol_at(text, at);
        write_symbol(out, &symbol);
        at += symbol.length + symbol.is_quoted;
    }
    if (!fclose(out))
        return spelled;
    free(spelled);
    return NULL;
}
