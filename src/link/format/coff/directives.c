/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Sections .drectve ("PE Format", The .drectve Section): options for the linker, separated by spaces, as on its command
 * line. Quotes hold what has spaces together. Options that change what the code does are done or refused by name;
 * those that are about the file that a linker would write mean nothing here. */

#include "link/format/coff/reader.h"

/* A piece of text in the file. */
struct text {
    const char *at;
    size_t length;
};

typedef int apply(struct tn__coff_reader *r, struct text value);

static bool equals(struct text text, const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; i < text.length && i < length; i++) {
        char c = text.at[i];
        if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != word[i])
            return false;
    }
    return text.length == length;
}

/* Takes what comes before a character, or all. */
static struct text split(struct text *text, char at)
{
    const char *end = text->length ? memchr(text->at, at, text->length) : NULL;
    struct text first = {text->at, end ? (size_t)(end - text->at) : text->length};
    size_t taken = first.length + (end != NULL);
    *text = (struct text){text->at + taken, text->length - taken};
    return first;
}

/* Of a text that one pair of quotes is around. */
static struct text unquote(struct text text)
{
    if (text.length >= 2 && text.at[0] == '"' && memchr(text.at + 1, '"', text.length - 1) == text.at + text.length - 1)
        return (struct text){text.at + 1, text.length - 2};
    return text;
}

/* ---- what they do ---- */

static int add_named(struct tn__coff_reader *r, struct text name, struct tn__symbol symbol, uint32_t *number)
{
    symbol.name = r->counting ? "" : tn__arena_text(&r->object->arena, name.at, name.length);
    if (!symbol.name)
        return tn__no_memory(r->err, r->object->name);
    uint32_t added = tn__coff_add_symbol(r, symbol);
    if (number)
        *number = added;
    return 0;
}

/* /include:NAME: loaded with the object, although it may not refer to it. Such symbols are the last ones. */
static int include(struct tn__coff_reader *r, struct text value)
{
    if (!value.length)
        return 0;
    return add_named(r, unquote(value), (struct tn__symbol){.binding = TN__BIND_GLOBAL}, NULL);
}

/* A name for another one, unless something else is defined. */
static int add_alias(struct tn__coff_reader *r, struct text name, struct text target)
{
    if (!name.length || !target.length || (name.length == target.length && !memcmp(name.at, target.at, name.length)))
        return 0;
    uint32_t number = 0;
    int code = r->counting ? tn__coff_count_alias(r) : 0;
    if (!code)
        code = add_named(r, target, (struct tn__symbol){.binding = TN__BIND_GLOBAL}, &number);
    struct tn__symbol alias = {.binding = TN__BIND_WEAK, .place = TN__PLACE_ALIAS, .value = number};
    return code ? code : add_named(r, name, alias, NULL);
}

/* /alternatename:NAME=TARGET */
static int alternate_name(struct tn__coff_reader *r, struct text value)
{
    value = unquote(value);
    struct text name = split(&value, '=');
    return add_alias(r, name, value);
}

/* /export:NAME[=TARGET][,@ORDINAL[,NONAME]][,PRIVATE][,DATA]: all external symbols are visible here. */
static int export(struct tn__coff_reader *r, struct text value)
{
    value = unquote(value);
    struct text definition = split(&value, ',');
    struct text name = unquote(split(&definition, '='));
    definition = unquote(definition);
    if (definition.length && memchr(definition.at, '.', definition.length))
        return tn__fail(r->err, TN_ENOTSUP, "%s: the directive /export:%.*s=%.*s leads to another library",
                        r->object->name, (int)tn__min64(name.length, 256), name.at,
                        (int)tn__min64(definition.length, 256), definition.at);
    return add_alias(r, name, definition);
}

/* -aligncomm:NAME,SHIFT of GNU tools. The name is not worth a search: all common symbols of the file get the largest
 * alignment. */
static int align_common(struct tn__coff_reader *r, struct text value)
{
    enum { MOST = 13 };
    struct text last = {value.at, 0};
    while (value.length)
        last = split(&value, ',');
    uint32_t shift = 0;
    for (size_t i = 0; i < last.length && shift <= MOST && last.at[i] >= '0' && last.at[i] <= '9'; i++)
        shift = shift * 10 + (uint32_t)(last.at[i] - '0');
    if (shift > MOST)
        return TN__COFF_FAIL(r, "%s: the directive -aligncomm asks for an alignment of 2^%u", r->object->name, shift);
    if (r->common_shift < shift)
        r->common_shift = (uint8_t)shift;
    return 0;
}

static int ignore(struct tn__coff_reader *r, struct text value)
{
    (void)r, (void)value;
    return 0;
}

static const struct directive {
    const char *name;
    apply *apply;
} directives[] = {
    {"include", include},
    {"alternatename", alternate_name},
    {"export", export},
    {"aligncomm", align_common},
    /* Which libraries to link, and how: here the client says. */
    {"defaultlib", ignore},
    {"nodefaultlib", ignore},
    {"disallowlib", ignore},
    {"failifmismatch", ignore},
    {"inferasanlibs", ignore},
    {"inferasanlibsno", ignore},
    /* The file that would be written. */
    {"entry", ignore},
    {"subsystem", ignore},
    {"stack", ignore},
    {"heap", ignore},
    {"release", ignore},
    {"debug", ignore},
    {"manifestdependency", ignore},
    {"manifestuac", ignore},
    {"exclude-symbols", ignore}, /* from the names that a DLL exports */
    {"merge", ignore},           /* sections, in which nothing changes */
    {"editandcontinue", ignore},
    {"throwingnew", ignore},
    {"guardsym", ignore}, /* control flow guard */
    {"ignore", ignore},   /* warnings */
    {"opt", ignore},
    {"incremental", ignore},
    {"nologo", ignore},
    {"verbose", ignore},
};

/* ---- reading them ---- */

static int apply_one(struct tn__coff_reader *r, struct text option)
{
    option = unquote(option);
    if (option.length && (option.at[0] == '/' || option.at[0] == '-'))
        option = (struct text){option.at + 1, option.length - 1};
    struct text value = option, name = split(&value, ':');
    for (size_t i = 0; i < TN_COUNT(directives); i++)
        if (equals(name, directives[i].name))
            return (directives[i].apply == include) == r->including ? directives[i].apply(r, value) : 0;
    return tn__fail(r->err, TN_ENOTSUP, "%s: the linker directive /%.*s is not supported", r->object->name,
                    (int)tn__min64(option.length, 256), option.at);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\0' || c == '\t' || c == '\r' || c == '\n';
}

/* Takes the next option; one without text at the end. */
static struct text next_option(struct text *rest)
{
    while (rest->length && is_space(*rest->at))
        *rest = (struct text){rest->at + 1, rest->length - 1};
    struct text option = {rest->at, 0};
    for (bool quoted = false; option.length < rest->length; option.length++) {
        char c = option.at[option.length];
        quoted ^= c == '"';
        if (!quoted && is_space(c))
            break;
    }
    *rest = (struct text){rest->at + option.length, rest->length - option.length};
    return option;
}

static int read_section(struct tn__coff_reader *r, const struct tn__section *section)
{
    static const char byte_order_mark[] = {'\xef', '\xbb', '\xbf'};
    struct text rest = {(const char *)section->bytes, section->size};
    if (rest.length >= sizeof byte_order_mark && !memcmp(rest.at, byte_order_mark, sizeof byte_order_mark))
        rest = (struct text){rest.at + sizeof byte_order_mark, rest.length - sizeof byte_order_mark};
    int code = 0;
    for (struct text option; !code && (option = next_option(&rest)).length;)
        code = apply_one(r, option);
    return code;
}

static int read_all(struct tn__coff_reader *r, bool including)
{
    r->including = including;
    int code = 0;
    for (uint32_t i = 1; !code && i < r->object->section_count; i++)
        if (!strcmp(r->object->sections[i].name, ".drectve") && r->object->sections[i].bytes)
            code = read_section(r, &r->object->sections[i]);
    return code;
}

int tn__coff_read_directives(struct tn__coff_reader *r)
{
    int code = read_all(r, false);
    uint32_t first = r->added;
    if (!code)
        code = read_all(r, true);
    if (!r->counting && r->added != first)
        r->object->first_need = tn__coff_symbol(r->symbol_count) + first;
    return code;
}
