/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon cpu: what this machine has, what targets need, and which of them would be chosen. */

#include <stdlib.h>
#include <string.h>

#include "cpu/targets.h"
#include "image/load/image.h"
#include "lib/tool.h"

static const char *const verdicts[] = {
    [TN_CPU_CHOSEN] = "is taken",
    [TN_CPU_LACKS] = "does not fit",
    [TN_CPU_UNKNOWN] = "does not fit: it has names that this version does not know",
    [TN_CPU_NARROWER] = "fits, but the one taken has wider vector registers",
    [TN_CPU_FEWER] = "fits, but the one taken has more features",
    [TN_CPU_RENAMED] = "fits, but the one taken has the name of this CPU",
    [TN_CPU_EARLIER] = "fits, but the one taken has the same features and stands later",
};

static const struct {
    uint64_t flag;
    const char *text;
} flags[] = {{TN_CPU_CLONE_ALL, "clone_all"}, {TN_CPU_OPT_SIZE, "opt_size"}, {TN_CPU_MIN_SIZE, "min_size"}};

/* Prints `title` and the names behind it, in lines of at most 100 columns. */
static void print_set(const char *title, const struct tn_cpu_arch *arch, const struct tn_cpu_set *set)
{
    enum { LINE = 100, INDENT = 4 };
    char text[64 * TN_CPU_WORDS * 24];
    int column = printf("%*s%s:", INDENT - 2, "", title);
    if (!tn_cpu_format(arch, set, text, sizeof text))
        printf(" nothing");
    for (const char *word = text; *word;) {
        int length = (int)strcspn(word, " ");
        if (column + 1 + length > LINE)
            column = printf("\n%*s", INDENT - 1, "") - 1;
        column += printf(" %.*s", length, word);
        word += length + (word[length] == ' ');
    }
    putchar('\n');
}

static struct tn_cpu_set only(const struct tn_cpu_arch *arch, const struct tn_cpu_set *set, enum tn_cpu_kind kind)
{
    struct tn_cpu_set result = {{0}};
    for (size_t f = 1; f < tn_cpu_feature_end(arch); f++) {
        struct tn_cpu_feature feature = {.size = sizeof feature};
        tn_cpu_feature(arch, f, &feature, NULL);
        if (feature.kind == kind)
            result.words[f / 64] |= set->words[f / 64] & UINT64_C(1) << f % 64;
    }
    return result;
}

static void print_host(const struct tn_cpu *host, const char *limit)
{
    static const struct {
        enum tn_cpu_kind kind;
        const char *title;
    } kinds[] = {{TN_CPU_CODE, "has"}, {TN_CPU_GROUP, "that is"}, {TN_CPU_ASKED, "needed only where asked for"}};
    printf("host %s, CPU %s%s%s\n", tn_cpu_arch_name(host->arch), host->name, limit ? ", limited by TENON_CPU to " : "",
           limit ? limit : "");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct tn_cpu_set set = only(host->arch, &host->features, kinds[i].kind), none = {{0}};
        if (memcmp(&set, &none, sizeof set) != 0)
            print_set(kinds[i].title, host->arch, &set);
    }
}

/* ---- targets ---- */

static void print_target(size_t number, const struct tn_cpu_targets *targets)
{
    const struct tn_cpu_target *target = tn_cpu_target_at(targets, number);
    printf("\ntarget %zu, %s", number, target->name);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (target->flags & flags[i].flag)
            printf(", %s", flags[i].text);
    if (target->base)
        printf(", base %zu", target->base);
}

static void print_needs(const struct tn_cpu_targets *targets, size_t number)
{
    const struct tn_cpu_target *target = tn_cpu_target_at(targets, number);
    if (!(target->flags & TN_CPU_UNKNOWN_NAME))
        print_set("needs", tn_cpu_targets_arch(targets), &target->enabled);
    if (*target->extra)
        printf("  for LLVM: %s\n", target->extra);
}

/* Says for each target whether it fits `host`, and which one is chosen. */
static int print_choice(const struct tn_cpu *host, const struct tn_cpu_targets *targets)
{
    struct tn_error err;
    size_t count = tn_cpu_target_count(targets), chosen;
    enum tn_cpu_verdict *verdict = calloc(count, sizeof *verdict);
    if (!verdict)
        return tool_fail(STATUS_FAILURE, "out of memory");
    int code = tn_cpu_choose(host, targets, verdict, &chosen, &err);
    for (size_t i = 0; i < count; i++) {
        struct tn_cpu_set missing;
        print_target(i, targets);
        printf(" %s\n", verdicts[verdict[i]]);
        tn_cpu_missing(host, tn_cpu_target_at(targets, i), &missing);
        if (verdict[i] == TN_CPU_LACKS)
            print_set("lacks", host->arch, &missing);
        print_needs(targets, i);
    }
    free(verdict);
    return !code ? STATUS_OK : tool_fail(STATUS_FAILURE, "%s", err.text);
}

static void print_names(const struct tn_cpu_arch *arch)
{
    struct tn_cpu_set features;
    const char *alias_of, *name;
    printf("%s, CPUs besides native:\n", tn_cpu_arch_name(arch));
    for (size_t i = 0; (name = tn_cpu_name_at(arch, i, &features, &alias_of)); i++)
        printf("  %s%s%s\n", name, alias_of ? " = " : "", alias_of ? alias_of : "");
    printf("\n%s, features:\n", tn_cpu_arch_name(arch));
    for (size_t f = 1; f < tn_cpu_feature_end(arch); f++) {
        static const char *const kinds[] = {
            [TN_CPU_CODE] = "", [TN_CPU_ASKED] = "if asked for", [TN_CPU_GROUP] = "group"};
        struct tn_cpu_feature feature = {.size = sizeof feature};
        char implied[512];
        tn_cpu_feature(arch, f, &feature, NULL);
        tn_cpu_format(arch, &feature.implies, implied, sizeof implied);
        int width = printf("  %-22s %-12s", feature.name, kinds[feature.kind]);
        printf(*implied ? "%*s > %s\n" : "\n", 37 - width, "", implied);
    }
}

static bool wants_help(const struct tn_cpu_targets *targets)
{
    for (size_t i = 0; i < tn_cpu_target_count(targets); i++)
        if (tn_cpu_target_at(targets, i)->flags & TN_CPU_HELP)
            return true;
    return false;
}

static int show_targets(const struct tn_cpu *host, const struct tn_cpu_targets *targets)
{
    const struct tn_cpu_arch *arch = tn_cpu_targets_arch(targets);
    if (wants_help(targets)) {
        print_names(arch);
        return STATUS_OK;
    }
    if (arch == host->arch)
        return print_choice(host, targets);
    for (size_t i = 0; i < tn_cpu_target_count(targets); i++) {
        print_target(i, targets);
        printf(" is for %s\n", tn_cpu_arch_name(arch));
        print_needs(targets, i);
    }
    return STATUS_OK;
}

/* The targets of an image, which are those of its tables. */
static int show_own(const struct tn_cpu *host, const struct tn__image_view *view)
{
    return show_targets(host, &(struct tn_cpu_targets){.arch = tool_image_arch(view),
                                                       .list = view->targets,
                                                       .count = view->tables[TN__IMAGE_TARGET_TABLE].count});
}

/* Those of a string, in which "sysimage" stands for the image's. */
static int show_with(const struct tn_cpu *host, const struct tn__image_view *view, const char *text)
{
    struct tn_error err;
    struct tn_cpu_targets *targets;
    char *own = tool_image_targets(view);
    struct tn_cpu_parse_options options = {
        .size = sizeof options, .arch = tool_image_arch(view), .native = host, .image = own};
    int code = own ? tn_cpu_parse_targets(text, &options, &targets, &err) : TN_ENOMEM;
    free(own);
    if (code == TN_ENOMEM)
        return tool_fail(STATUS_FAILURE, "out of memory");
    if (code)
        return tool_fail(STATUS_USAGE, "%s", err.text);
    int status = show_targets(host, targets);
    tn_cpu_targets_destroy(targets);
    return status;
}

static int show_image(const struct tn_cpu *host, const char *name, const char *text)
{
    struct file file;
    struct tn__image_view view;
    struct tn__arena arena = {.from = NULL};
    struct tn_error err;
    if (!tool_read(name, &file))
        return STATUS_FAILURE;
    int status;
    if (tool_find_image(&file, &arena, &view, &err)) {
        if (!tool_image_arch(&view))
            status = tool_fail(STATUS_FAILURE, "%s: unknown ELF machine %u", file.name, view.machine);
        else
            status = text ? show_with(host, &view, text) : show_own(host, &view);
    } else {
        status = *err.text ? tool_fail(STATUS_FAILURE, "%s", err.text)
                           : tool_fail(STATUS_FAILURE, "'%s': there is no image in it", file.name);
    }
    tn__arena_free(&arena);
    tool_release(&file);
    return status;
}

int command_cpu(struct settings *settings)
{
    struct tn_error err;
    const char *limit = getenv("TENON_CPU");
    const char *usual = settings->file_count ? NULL : getenv("TENON_CPU_TARGET"), *text = settings->targets;
    const char *source = text || !usual || !*usual ? "" : "TENON_CPU_TARGET: ";
    text = *source ? usual : text;
    if (limit && !*limit)
        limit = NULL;
    if (settings->argument_count)
        return tool_fail(STATUS_USAGE, "nothing may follow '--'");
    if (settings->file_count > 1 || (settings->file_count && settings->triple))
        return tool_fail(STATUS_USAGE, "one image at a time, and no --triple with it");
    const struct tn_cpu *host = tool_host();
    if (!host)
        return STATUS_USAGE;
    const struct tn_cpu_arch *arch = settings->triple ? tn_cpu_arch_find(settings->triple) : host->arch;
    if (!arch)
        return tool_fail(STATUS_USAGE, "unknown architecture '%s'", settings->triple);
    if (settings->triple && !text)
        return tool_fail(STATUS_USAGE, "--triple is the architecture of --targets, and there are none");
    struct tn_cpu_parse_options options = {.size = sizeof options, .arch = arch, .native = host};
    struct tn_cpu_targets *targets = NULL;
    if (text && !settings->file_count && tn_cpu_parse_targets(text, &options, &targets, &err))
        return tool_fail(STATUS_USAGE, "%s%s", source, err.text);
    print_host(host, limit);
    if (settings->file_count)
        return show_image(host, settings->files[0], text);
    int status = targets ? show_targets(host, targets) : STATUS_OK;
    tn_cpu_targets_destroy(targets);
    return status;
}
