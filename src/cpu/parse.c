/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Parses target strings: targets separated by ';', each a name and items separated by ','. Nothing is trimmed or
 * skipped: what cannot be parsed is an error that names its column. */

#include "cpu/targets.h"

struct parser {
    const char *text, *at; /* `at`: the next byte to read */
    const struct tn_cpu_parse_options *options;
    struct tn_cpu_targets *targets;
    struct tn_error *err;
    size_t capacity;
    char *extra, *extra_end; /* unknown features of this target; NULL: none yet */
    bool inside_image;       /* reading the string that "sysimage" stands for */
};

struct word {
    const char *text;
    size_t length;
};

#define WORD(word) (int)(word).length, (word).text

/* ---- errors ---- */

/* `return wrong(parser, place, ...)`: the arguments format the rest of the message. */
#define wrong(parser, place, ...) (begin_error(parser, place), tn__append((parser)->err, __VA_ARGS__), TN_EINVAL)

static void begin_error(struct parser *parser, const char *place)
{
    tn__fail(parser->err, TN_EINVAL, "target string%s, column %zu: ", parser->inside_image ? " of the image" : "",
             (size_t)(place - parser->text) + 1);
}

static int out_of_memory(struct parser *parser)
{
    return tn__fail(parser->err, TN_ENOMEM, "out of memory while reading a target string");
}

/* ---- words ---- */

static bool is(struct word word, const char *text)
{
    return strlen(text) == word.length && memcmp(word.text, text, word.length) == 0;
}

static struct word take_word(struct parser *parser)
{
    struct word word = {parser->at, strcspn(parser->at, ",;")};
    parser->at += word.length;
    return word;
}

/* The characters of names of CPUs and features. No others reach LLVM, which would read some of them as syntax. */
static int check_name(struct parser *parser, struct word word)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t good = strspn(word.text, allowed);
    if (good >= word.length)
        return 0;
    uint8_t byte = (uint8_t)word.text[good];
    return wrong(parser, word.text + good,
                 byte >= ' ' && byte < 0x7f ? "'%c' cannot be part of a name" : "byte 0x%02x cannot be part of a name",
                 byte);
}

/* ---- items ---- */

static const struct flag {
    const char *word;
    uint64_t flag, excludes;
    bool may_be_off; /* may be negated with '-' */
    bool image_only; /* meaningless for a single target */
} flags[] = {
    {"clone_all", TN_CPU_CLONE_ALL, 0, true, true},
    {"opt_size", TN_CPU_OPT_SIZE, TN_CPU_MIN_SIZE, false, true},
    {"min_size", TN_CPU_MIN_SIZE, TN_CPU_OPT_SIZE, false, true},
    {"help", TN_CPU_HELP, 0, false, false},
};

static bool single(const struct parser *parser)
{
    return parser->options->flags & TN_CPU_ONE_TARGET;
}

static int read_flag(struct parser *parser, const struct flag *row, const char *item, bool off,
                     struct tn_cpu_target *target)
{
    if (off && !row->may_be_off)
        return wrong(parser, item, "'-%s': it cannot be switched off", row->word);
    if (row->image_only && single(parser))
        return wrong(parser, item, "'%s' is for images", row->word);
    if (target->flags & row->excludes)
        return wrong(parser, item, "opt_size and min_size exclude one another");
    target->flags = off ? target->flags & ~row->flag : target->flags | row->flag;
    return 0;
}

/* `word` is "base" or begins with "base(". */
static int read_base(struct parser *parser, struct word word, const char *item, bool off, struct tn_cpu_target *target)
{
    const char *end = word.text + word.length, *at = word.length > 5 ? word.text + 5 : end;
    size_t base = 0, count = parser->targets->count;
    if (off)
        return wrong(parser, item, "'-%.*s': it cannot be switched off", WORD(word));
    if (single(parser))
        return wrong(parser, item, "'%.*s' is for images", WORD(word));
    const char *digits = at;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        base = base > count ? base : base * 10 + (size_t)(*at - '0');
    if (at == digits || at + 1 != end || *at != ')')
        return wrong(parser, at, "'%.*s': want base(N), N the number of a target before this one", WORD(word));
    if (base && base >= count)
        return wrong(parser, digits, "'%.*s': no target before this one has that number", WORD(word));
    if (base && !(parser->targets->list[base].flags & TN_CPU_CLONE_ALL))
        return wrong(parser, digits, "'%.*s': target %zu (%s) is not clone_all", WORD(word), base,
                     parser->targets->list[base].name);
    target->base = base;
    return 0;
}

/* Records an item that the tables lack, for LLVM. `item` points to it, including its sign. */
static int read_unknown(struct parser *parser, struct word word, const char *item, bool off,
                        struct tn_cpu_target *target)
{
    if (!parser->extra) { /* space for all items that follow, each with a comma and a sign */
        parser->extra = tn__arena_alloc(&parser->targets->arena, 2 * strcspn(item, ";") + 2);
        if (!parser->extra)
            return out_of_memory(parser);
        parser->extra_end = parser->extra;
        target->extra = parser->extra;
    }
    if (parser->extra_end != parser->extra)
        *parser->extra_end++ = ',';
    *parser->extra_end++ = off ? '-' : '+';
    memcpy(parser->extra_end, word.text, word.length);
    parser->extra_end += word.length;
    *parser->extra_end = 0;
    if (!off && !tn__cpu_is_tuning(parser->targets->arch, word.text, word.length))
        target->flags |= TN_CPU_UNKNOWN_FEATURE;
    return 0;
}

static int read_item(struct parser *parser, struct tn_cpu_target *target, struct tn__cpu_wish *wish)
{
    const char *item = parser->at;
    bool off = *item == '-';
    if (off || *item == '+')
        parser->at++;
    struct word word = take_word(parser);
    if (!word.length)
        return wrong(parser, item, "a feature is missing");
    for (size_t i = 0; i < TN_COUNT(flags); i++)
        if (is(word, flags[i].word))
            return read_flag(parser, &flags[i], item, off, target);
    if (is(word, "base") || (word.length >= 5 && memcmp(word.text, "base(", 5) == 0))
        return read_base(parser, word, item, off, target);
    int code = check_name(parser, word);
    if (code)
        return code;
    size_t feature = tn__cpu_find_feature(parser->targets->arch, word.text, word.length);
    if (!feature)
        return read_unknown(parser, word, item, off, target);
    tn__cpu_add(off ? &wish->taken : &wish->given, feature);
    return 0;
}

/* ---- targets ---- */

static int read_name(struct parser *parser, struct tn_cpu_target *target, struct tn__cpu_wish *wish,
                     const struct tn_cpu **native)
{
    const struct tn_cpu_arch *arch = parser->targets->arch;
    struct word word = take_word(parser);
    if (!word.length)
        return wrong(parser, word.text, "the name of a CPU is missing");
    int code = check_name(parser, word);
    if (code)
        return code;
    if (is(word, "sysimage"))
        return wrong(parser, word.text, "'sysimage' stands alone, as the first target");
    if (is(word, "native")) {
        *native = parser->options->native;
        if (!*native || (*native)->arch != arch)
            return wrong(parser, word.text, "'native' is not known to be a CPU of %s", arch->name);
        target->name = (*native)->name;
        return 0;
    }
    bool help = is(word, "help");
    wish->cpu = help ? tn__cpu_find_name(arch, "generic", 7) : tn__cpu_find_name(arch, word.text, word.length);
    target->flags |= (help ? TN_CPU_HELP : 0) | (wish->cpu ? 0 : TN_CPU_UNKNOWN_NAME);
    target->name =
        wish->cpu ? arch->cpus[wish->cpu].name : tn__arena_text(&parser->targets->arena, word.text, word.length);
    return target->name ? 0 : out_of_memory(parser);
}

/* Where the feature is enabled in the target that begins at `start`. */
static const char *find_given(const char *start, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = start + strcspn(start, ",;"); *at == ',';) {
        const char *item = ++at, *word = at + (*at == '+');
        at += strcspn(at, ",;");
        if ((size_t)(at - word) == length && memcmp(word, name, length) == 0)
            return item;
    }
    return start;
}

static int read_target(struct parser *parser)
{
    struct tn_cpu_targets *targets = parser->targets;
    struct tn_cpu_target target = {.size = sizeof target, .extra = ""};
    struct tn__cpu_wish wish = {.cpu = 0};
    const struct tn_cpu *native = NULL;
    const char *start = parser->at;
    parser->extra = NULL;
    if (targets->count && single(parser))
        return wrong(parser, start, "several targets are for images");
    int code = read_name(parser, &target, &wish, &native);
    while (!code && *parser->at == ',') {
        parser->at++;
        code = read_item(parser, &target, &wish);
    }
    if (code)
        return code;
    size_t lost = tn__cpu_resolve(targets->arch, &wish, native, &target);
    if (lost) {
        const char *name = targets->arch->features[lost].name;
        return wrong(parser, find_given(start, name), "'%s' cannot be: an item with '-' takes it, or what it needs",
                     name);
    }
    if (!tn__grow(NULL, &targets->list, &parser->capacity, targets->count + 1, sizeof target))
        return out_of_memory(parser);
    targets->list[targets->count++] = target;
    return 0;
}

static int read_targets(struct parser *parser);

/* Replaces "sysimage" by the image's targets. */
static int read_image(struct parser *parser)
{
    const char *start = parser->at;
    parser->at += strlen("sysimage");
    if (!parser->options->image)
        return wrong(parser, start, "'sysimage': there is no image");
    struct parser image = *parser;
    image.text = image.at = parser->options->image;
    image.inside_image = true;
    int code = read_targets(&image);
    parser->capacity = image.capacity;
    return code;
}

static int read_targets(struct parser *parser)
{
    bool first = !parser->inside_image;
    for (;; parser->at++) {
        bool image = first && strcspn(parser->at, ",;") == strlen("sysimage") &&
                     memcmp(parser->at, "sysimage", strlen("sysimage")) == 0 && parser->at[strlen("sysimage")] != ',';
        int code = image ? read_image(parser) : read_target(parser);
        if (code || !*parser->at)
            return code;
        first = false;
    }
}

/* ---- the list ---- */

int tn_cpu_parse_targets(const char *text, const struct tn_cpu_parse_options *given, struct tn_cpu_targets **out,
                         struct tn_error *err)
{
    if (!text || !out)
        return tn__no_argument(err);
    struct tn_cpu_parse_options options;
    int code = tn__take_options(&options, sizeof options, given, "struct tn_cpu_parse_options", err);
    if (code)
        return code;
    if (options.flags & ~(uint64_t)TN_CPU_ONE_TARGET)
        return tn__fail(err, TN_EINVAL, "struct tn_cpu_parse_options has unknown flags");
    struct tn_cpu_targets *targets = tn__alloc_zeroed(NULL, 1, sizeof *targets);
    struct parser parser = {.text = text, .at = text, .options = &options, .targets = targets, .err = err};
    if (!targets)
        return out_of_memory(&parser);
    targets->arch = options.arch ? options.arch : tn_cpu_arch_host();
    code = read_targets(&parser);
    if (!code)
        *out = targets;
    else
        tn_cpu_targets_destroy(targets);
    return code;
}

size_t tn_cpu_target_count(const struct tn_cpu_targets *targets)
{
    return targets->count;
}

const struct tn_cpu_target *tn_cpu_target_at(const struct tn_cpu_targets *targets, size_t index)
{
    return &targets->list[index];
}

const struct tn_cpu_arch *tn_cpu_targets_arch(const struct tn_cpu_targets *targets)
{
    return targets->arch;
}

void tn_cpu_targets_destroy(struct tn_cpu_targets *targets)
{
    if (!targets)
        return;
    tn__free(NULL, targets->list);
    tn__arena_free(&targets->arena);
    tn__free(NULL, targets);
}
