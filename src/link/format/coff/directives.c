/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Sections .drectve ("PE Format", The .drectve Section): options for the linker, separated by spaces, as on its command
 * line. An option with spaces in it is quoted. Options that change what the code does are obeyed or refused by name.
 * Options about the file that a linker would write mean nothing here. */

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

/* ---- arguments ---- */

enum { HEXADECIMAL = 16, DECIMAL = 10, OCTAL = 8 };

static bool parse_number(struct text text, unsigned base, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)(text.at[i] | ' ');
        unsigned digit = c >= 'a' ? c - 'a' + DECIMAL : c >= '0' && c <= '9' ? c - '0' : HEXADECIMAL;
        if (digit >= base || *value > (UINT64_MAX - digit) / base)
            return false;
        *value = *value * base + digit;
    }
    return text.length;
}

/* As in C. */
static bool parse_c_number(struct text text, uint64_t *value)
{
    if (text.length < 2 || text.at[0] != '0')
        return parse_number(text, DECIMAL, value);
    bool hexadecimal = (text.at[1] | ' ') == 'x';
    size_t prefix = hexadecimal ? 2 : 1;
    return parse_number((struct text){text.at + prefix, text.length - prefix}, hexadecimal ? HEXADECIMAL : OCTAL,
                        value);
}

/* They are true if a linker can understand the argument. */
typedef bool understand(struct text value);

static bool is_nothing(struct text value)
{
    return !value.length;
}

static bool is_something(struct text value)
{
    return value.length;
}

static bool is_pair(struct text value)
{
    value = unquote(value);
    struct text name = split(&value, '=');
    return name.length && value.length;
}

/* RESERVED[,COMMITTED] */
static bool is_sizes(struct text value)
{
    uint64_t number;
    struct text first = split(&value, ',');
    return parse_c_number(first, &number) && (!value.length || parse_c_number(value, &number));
}

/* NAME[,MAJOR[.MINOR]] */
static bool is_subsystem(struct text value)
{
    static const char *const names[] = {
        "boot_application",   "console", "default", "efi_application", "efi_boot_service_driver", "efi_rom",
        "efi_runtime_driver", "native",  "posix",   "windows"};
    struct text name = split(&value, ',');
    struct text major = split(&value, '.');
    uint64_t number;
    bool known = false;
    for (size_t i = 0; i < TN_COUNT(names); i++)
        known |= equals(name, names[i]);
    return known && (!major.length || parse_number(major, DECIMAL, &number)) &&
           (!value.length || parse_number(value, DECIMAL, &number));
}

/* FROM=TO: sections, of which a linker fills two itself. */
static bool is_merge(struct text value)
{
    if (!is_pair(value))
        return false;
    struct text from = split(&value, '=');
    return !equals(from, ".rsrc") && !equals(from, ".reloc") && !equals(value, ".rsrc") && !equals(value, ".reloc");
}

/* NAME[=TARGET][,@ORDINAL[,NONAME]][,PRIVATE][,DATA][,CONSTANT][,EXPORTAS,NAME] */
static bool is_export(struct text value)
{
    value = unquote(value);
    struct text definition = split(&value, ',');
    bool sound = definition.length && definition.at[definition.length - 1] != '=', has_ordinal = false;
    while (sound && value.length) {
        struct text option = split(&value, ',');
        uint64_t ordinal;
        if (option.length && *option.at == '@') {
            option = (struct text){option.at + 1, option.length - 1};
            sound = has_ordinal = parse_c_number(option, &ordinal) && ordinal && ordinal <= UINT16_MAX;
        } else if (equals(option, "exportas"))
            return value.length && !memchr(value.at, ',', value.length);
        else
            sound = equals(option, "noname")
                        ? has_ordinal
                        : equals(option, "private") || equals(option, "data") || equals(option, "constant");
    }
    return sound;
}

/* NAME,SHIFT */
static bool is_shift(struct text value)
{
    uint64_t number;
    struct text name = split(&value, ',');
    return name.length && parse_c_number(value, &number);
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

/* What all objects of a library have to say alike. */
static int add_setting(struct tn__coff_reader *r, const char *directive, struct text name, struct text value)
{
    if (r->counting) {
        r->setting_count++;
        return 0;
    }
    size_t prefix = strlen(directive);
    char *signature = tn__arena_alloc(&r->object->arena, prefix + name.length + 1);
    if (!signature)
        return tn__no_memory(r->err, r->object->name);
    memcpy(signature, directive, prefix);
    memcpy(signature + prefix, name.at, name.length);
    signature[prefix + name.length] = '\0';
    r->object->groups[r->object->group_count++] = (struct tn__group){
        .signature = signature, .selection = TN__SELECT_SETTING, .measure = tn__coff_hash(value.at, value.length)};
    return 0;
}

/* /failifmismatch:NAME=VALUE */
static int fail_if_mismatch(struct tn__coff_reader *r, struct text value)
{
    value = unquote(value);
    struct text name = split(&value, '=');
    return add_setting(r, "/failifmismatch:", name, value);
}

/* A name for another one, unless something else is defined. */
static int add_alias(struct tn__coff_reader *r, struct text name, struct text target, bool after_archives)
{
    if (!name.length || !target.length || (name.length == target.length && !memcmp(name.at, target.at, name.length)))
        return 0;
    uint32_t number = 0;
    int code = r->counting ? tn__coff_count_alias(r) : 0;
    if (!code)
        code = add_named(r, target, (struct tn__symbol){.binding = TN__BIND_GLOBAL}, &number);
    struct tn__symbol alias = {
        .binding = TN__BIND_WEAK, .place = TN__PLACE_ALIAS, .value = number, .after_archives = after_archives};
    return code ? code : add_named(r, name, alias, NULL);
}

/* /alternatename:NAME=TARGET, for names that no object and no archive defines */
static int alternate_name(struct tn__coff_reader *r, struct text value)
{
    value = unquote(value);
    struct text name = split(&value, '=');
    int code = add_setting(r, "/alternatename:", name, value);
    return code ? code : add_alias(r, name, value, true);
}

/* /export:NAME[=TARGET]...: all external symbols are visible here. */
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
    return add_alias(r, name, definition, false);
}

/* -aligncomm:NAME,SHIFT of GNU tools. The name is not worth a search: all common symbols of the file get the largest
 * alignment. */
static int align_common(struct tn__coff_reader *r, struct text value)
{
    enum { MOST = 13 };
    split(&value, ',');
    uint64_t shift;
    if (!parse_c_number(value, &shift) || shift > MOST)
        return TN__COFF_FAIL(r, "%s: the directive -aligncomm asks for an alignment of 2^%.*s", r->object->name,
                             (int)tn__min64(value.length, 256), value.at);
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
    understand *understand; /* NULL: any argument, or none */
} directives[] = {
    {"include", include, NULL},
    {"alternatename", alternate_name, is_pair},
    {"export", export, is_export},
    {"aligncomm", align_common, is_shift},
    {"failifmismatch", fail_if_mismatch, is_pair},
    /* Which libraries to link, and how: here the client says. */
    {"defaultlib", ignore, NULL},
    {"nodefaultlib", ignore, NULL},
    {"disallowlib", ignore, NULL},
    {"inferasanlibs", ignore, NULL},
    {"inferasanlibsno", ignore, NULL},
    /* The file that would be written. */
    {"entry", ignore, is_something},
    {"subsystem", ignore, is_subsystem},
    {"stack", ignore, is_sizes},
    {"heap", ignore, is_sizes},
    {"release", ignore, is_nothing},
    {"debug", ignore, NULL},
    {"manifestdependency", ignore, NULL},
    {"manifestuac", ignore, NULL},
    {"exclude-symbols", ignore, NULL}, /* from the names that a DLL exports */
    {"merge", ignore, is_merge},       /* sections, in which nothing changes */
    {"editandcontinue", ignore, is_nothing},
    {"throwingnew", ignore, NULL},
    {"guardsym", ignore, is_something}, /* control flow guard */
    {"ignore", ignore, NULL},           /* warnings */
    {"opt", ignore, NULL},
    {"incremental", ignore, NULL},
    {"nologo", ignore, NULL},
    {"verbose", ignore, NULL},
};

/* ---- reading them ---- */

static int apply_one(struct tn__coff_reader *r, struct text option)
{
    option = unquote(option);
    if (option.length && (option.at[0] == '/' || option.at[0] == '-'))
        option = (struct text){option.at + 1, option.length - 1};
    struct text value = option, name = split(&value, ':');
    for (size_t i = 0; i < TN_COUNT(directives); i++) {
        if (!equals(name, directives[i].name))
            continue;
        if (directives[i].understand && !directives[i].understand(value))
            return TN__COFF_FAIL(r, "%s: the argument of the linker directive /%.*s makes no sense", r->object->name,
                                 (int)tn__min64(option.length, 256), option.at);
        return (directives[i].apply == include) == r->including ? directives[i].apply(r, value) : 0;
    }
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

static int read_section(struct tn__coff_reader *r, const struct tn__input_section *section)
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
