/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon cpu: what this machine has, what targets need, and which of them would be chosen. */

#include <stdlib.h>
#include <string.h>

#include "cpu/targets.h"
#include "image/load/image.h"
#include "lib/show.h"
#include "lib/tool.h"

static const struct {
    bool fits;
    const char *text;
} verdicts[] = {
    [TN_CPU_CHOSEN] = {true, "is taken"},
    [TN_CPU_LACKS] = {false, "does not fit"},
    [TN_CPU_UNKNOWN] = {false, "does not fit: it has names that this version does not know"},
    [TN_CPU_NARROWER] = {true, "fits, but the one taken has wider vector registers"},
    [TN_CPU_FEWER] = {true, "fits, but the one taken has more features"},
    [TN_CPU_RENAMED] = {true, "fits, but the one taken has the name of this CPU"},
    [TN_CPU_EARLIER] = {true, "fits, but the one taken has the same features and stands later"},
};

static const struct {
    uint64_t flag;
    const char *text;
} flags[] = {{TN_CPU_CLONE_ALL, "clone_all"}, {TN_CPU_OPT_SIZE, "opt_size"}, {TN_CPU_MIN_SIZE, "min_size"}};

/* Shows the names in a set; as text, after `title`, in lines of at most 100 columns. */
static void show_set(struct show *show, const char *key, const char *title, const struct tn_cpu_arch *arch,
                     const struct tn_cpu_set *set)
{
    enum { LINE = 100, INDENT = 4 };
    char text[64 * TN_CPU_WORDS * 24];
    int column = INDENT - 2 + (int)strlen(title) + 1;
    show_plain(show, "%*s%s:", INDENT - 2, "", title);
    if (!tn_cpu_format(arch, set, text, sizeof text))
        show_plain(show, " nothing");
    show_list(show, key);
    for (char *word = text, *next; *word; word = next) {
        int length = (int)strcspn(word, " ");
        next = word + length + (word[length] == ' ');
        word[length] = 0;
        if (column + 1 + length > LINE) {
            show_plain(show, "\n%*s", INDENT - 1, "");
            column = INDENT - 1;
        }
        show_plain(show, " ");
        show_text(show, NULL, 0, word);
        column += 1 + length;
    }
    show_end(show);
    show_plain(show, "\n");
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

static void show_host(struct show *show, const struct tn_cpu *host, const char *limit)
{
    static const struct {
        enum tn_cpu_kind kind;
        const char *key, *title;
    } kinds[] = {{TN_CPU_CODE, "features", "has"},
                 {TN_CPU_GROUP, "groups", "that is"},
                 {TN_CPU_ASKED, "where_asked_for", "needed only where asked for"}};
    show_item(show, "host");
    show_plain(show, "host ");
    show_text(show, "arch", 0, tn_cpu_arch_name(host->arch));
    show_plain(show, ", CPU ");
    show_text(show, "cpu", 0, host->name);
    if (limit) {
        show_plain(show, ", limited by TENON_CPU to ");
        show_text(show, "limit", 0, limit);
    }
    show_plain(show, "\n");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct tn_cpu_set set = only(host->arch, &host->features, kinds[i].kind), none = {{0}};
        if (memcmp(&set, &none, sizeof set) != 0 || show->json)
            show_set(show, kinds[i].key, kinds[i].title, host->arch, &set);
    }
    show_end(show);
}

/* ---- targets ---- */

static void begin_target(struct show *show, size_t number, const struct tn_cpu_targets *targets)
{
    const struct tn_cpu_target *target = tn_cpu_target_at(targets, number);
    show_item(show, NULL);
    show_plain(show, "\ntarget ");
    show_number(show, "number", 0, number);
    show_plain(show, ", ");
    show_text(show, "name", 0, target->name);
    show_list(show, "flags");
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (target->flags & flags[i].flag) {
            show_plain(show, ", ");
            show_text(show, NULL, 0, flags[i].text);
        }
    show_end(show);
    if (target->base) {
        show_plain(show, ", base ");
        show_number(show, "base", 0, target->base);
    }
    show_plain(show, " ");
}

static void end_target(struct show *show, const struct tn_cpu_targets *targets, size_t number)
{
    const struct tn_cpu_target *target = tn_cpu_target_at(targets, number);
    if (!(target->flags & TN_CPU_UNKNOWN_NAME))
        show_set(show, "needs", "needs", tn_cpu_targets_arch(targets), &target->enabled);
    if (*target->extra) {
        show_plain(show, "  for LLVM: ");
        show_text(show, "extra", 0, target->extra);
        show_plain(show, "\n");
    }
    show_end(show);
}

/* Says for each target whether it fits `host`, and which one is chosen. */
static int show_choice(struct show *show, const struct tn_cpu *host, const struct tn_cpu_targets *targets)
{
    struct tn_error err;
    size_t count = tn_cpu_target_count(targets), chosen;
    enum tn_cpu_verdict *verdict = calloc(count, sizeof *verdict);
    if (!verdict)
        return tool_fail(STATUS_FAILURE, "out of memory");
    int code = tn_cpu_choose(host, targets, verdict, &chosen, &err);
    show_list(show, "targets");
    for (size_t i = 0; i < count; i++) {
        struct tn_cpu_set missing;
        begin_target(show, i, targets);
        show_text(show, "verdict", 0, verdicts[verdict[i]].text);
        show_plain(show, "\n");
        if (show->json) {
            show_flag(show, "fits", verdicts[verdict[i]].fits, "");
            show_flag(show, "taken", verdict[i] == TN_CPU_CHOSEN, "");
        }
        tn_cpu_missing(host, tn_cpu_target_at(targets, i), &missing);
        if (verdict[i] == TN_CPU_LACKS)
            show_set(show, "lacks", "lacks", host->arch, &missing);
        end_target(show, targets, i);
    }
    show_end(show);
    free(verdict);
    return !code ? STATUS_OK : tool_fail(STATUS_FAILURE, "%s", err.text);
}

static void show_cpus(struct show *show, const struct tn_cpu_arch *arch)
{
    struct tn_cpu_set features;
    const char *alias_of, *name;
    show_plain(show, "%s, CPUs besides native:\n", tn_cpu_arch_name(arch));
    show_list(show, "cpus");
    for (size_t i = 0; (name = tn_cpu_name_at(arch, i, &features, &alias_of)); i++) {
        show_item(show, NULL);
        show_plain(show, "  ");
        show_text(show, "name", 0, name);
        if (alias_of) {
            show_plain(show, " = ");
            show_text(show, "alias_of", 0, alias_of);
        }
        show_plain(show, "\n");
        show_end(show);
    }
    show_end(show);
}

static void show_names(struct show *show, const struct tn_cpu_arch *arch)
{
    static const char *const kinds[] = {[TN_CPU_CODE] = "", [TN_CPU_ASKED] = "if asked for", [TN_CPU_GROUP] = "group"};
    show_cpus(show, arch);
    show_plain(show, "\n%s, features:\n", tn_cpu_arch_name(arch));
    show_list(show, "features");
    for (size_t f = 1; f < tn_cpu_feature_end(arch); f++) {
        struct tn_cpu_feature feature = {.size = sizeof feature};
        char implied[512];
        tn_cpu_feature(arch, f, &feature, NULL);
        tn_cpu_format(arch, &feature.implies, implied, sizeof implied);
        show_item(show, NULL);
        show_plain(show, "  ");
        show_text(show, "name", 22, feature.name);
        show_plain(show, " ");
        show_text(show, "kind", 12, kinds[feature.kind]);
        show_plain(show, *implied ? " > " : "");
        show_text(show, "implies", 0, implied);
        show_plain(show, "\n");
        show_end(show);
    }
    show_end(show);
}

static bool wants_help(const struct tn_cpu_targets *targets)
{
    for (size_t i = 0; i < tn_cpu_target_count(targets); i++)
        if (tn_cpu_target_at(targets, i)->flags & TN_CPU_HELP)
            return true;
    return false;
}

static int show_targets(struct show *show, const struct tn_cpu *host, const struct tn_cpu_targets *targets)
{
    const struct tn_cpu_arch *arch = tn_cpu_targets_arch(targets);
    if (wants_help(targets)) {
        show_names(show, arch);
        return STATUS_OK;
    }
    if (arch == host->arch)
        return show_choice(show, host, targets);
    show_list(show, "targets");
    for (size_t i = 0; i < tn_cpu_target_count(targets); i++) {
        begin_target(show, i, targets);
        show_plain(show, "is for ");
        show_text(show, "arch", 0, tn_cpu_arch_name(arch));
        show_plain(show, "\n");
        end_target(show, targets, i);
    }
    show_end(show);
    return STATUS_OK;
}

/* The targets of an image, which are those of its tables. */
static int show_own(struct show *show, const struct tn_cpu *host, const struct tn__image_view *view)
{
    const struct tn_cpu_targets targets = {
        .arch = tool_image_arch(view), .list = view->targets, .count = view->tables[TN__IMAGE_TARGET_TABLE].count};
    return show_targets(show, host, &targets);
}

/* Those of a string, in which "sysimage" stands for the image's. */
static int show_with(struct show *show, const struct tn_cpu *host, const struct tn__image_view *view, const char *text)
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
    int status = show_targets(show, host, targets);
    tn_cpu_targets_destroy(targets);
    return status;
}

static int show_image(struct show *show, const struct tn_cpu *host, const char *name, const char *text)
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
            status = text ? show_with(show, host, &view, text) : show_own(show, host, &view);
    } else {
        status = *err.text ? tool_fail(STATUS_FAILURE, "%s", err.text)
                           : tool_fail(STATUS_FAILURE, "'%s': there is no image in it", file.name);
    }
    tn__arena_free(&arena);
    tool_release(&file);
    return status;
}

static int show_all(const struct settings *settings, const struct tn_cpu *host, const char *limit,
                    const struct tn_cpu_targets *targets, const char *text)
{
    struct show show = {.out = stdout, .json = settings->json};
    int status = STATUS_OK;
    show_item(&show, NULL);
    show_host(&show, host, limit);
    if (settings->file_count)
        status = show_image(&show, host, settings->files[0], text);
    else if (targets)
        status = show_targets(&show, host, targets);
    show_end_to(&show, 0);
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
    int status = show_all(settings, host, limit, targets, text);
    tn_cpu_targets_destroy(targets);
    return status;
}
