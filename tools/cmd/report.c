/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon build --report: from the bytes of a file to leaves, of which each byte is in one. */

#include <ar.h>
#include <elf.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/build_image.h"
#include "cmd/report.h"
#include "image/load/image.h"
#include "lib/show.h"

/* ---- leaves ---- */

bool report_add(struct report *report, const struct leaf *leaf)
{
    if (!leaf->size)
        return true;
    struct leaf *last = report->count ? &report->leaves[report->count - 1] : NULL;
    if (last && last->type == leaf->type && last->section == leaf->section && *leaf->type) { /* objects that follow */
        last->size += leaf->size;
        last->parts++;
        return true;
    }
    if (!tn__grow(NULL, &report->leaves, &report->capacity, report->count + 1, sizeof *report->leaves))
        return false;
    report->leaves[report->count] = *leaf;
    report->leaves[report->count++].parts = 1;
    return true;
}

static int compare_leaves(const void *a, const void *b)
{
    const struct leaf *x = a, *y = b;
    const char *const texts[][2] = {{x->package, y->package}, {x->kind, y->kind},     {x->section, y->section},
                                    {x->symbol, y->symbol},   {x->target, y->target}, {x->type, y->type}};
    for (size_t i = 0; i < TN_COUNT(texts); i++)
        if (strcmp(texts[i][0], texts[i][1]) != 0)
            return strcmp(texts[i][0], texts[i][1]);
    return 0;
}

static int by_place(const void *a, const void *b)
{
    int order = compare_leaves(a, b);
    const struct leaf *x = a, *y = b;
    return order ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

/* Makes one leaf of those that are alike. */
static void merge_leaves(struct report *report)
{
    size_t count = 0;
    qsort(report->leaves, report->count, sizeof *report->leaves, by_place);
    for (size_t i = 0; i < report->count; i++) {
        struct leaf *last = count ? &report->leaves[count - 1] : NULL;
        if (last && compare_leaves(last, &report->leaves[i]) == 0) {
            last->size += report->leaves[i].size;
            last->parts += report->leaves[i].parts;
        } else {
            report->leaves[count++] = report->leaves[i];
        }
    }
    report->count = count;
}

/* ---- whose symbols they are ---- */

struct owned {
    const char *symbol, *input;
};

static int by_symbol(const void *a, const void *b)
{
    return strcmp(((const struct owned *)a)->symbol, ((const struct owned *)b)->symbol);
}

struct owner {
    struct report *report;
    const char *input;
};

/* The first definition counts. */
static bool note_symbol(void *context, const char *symbol)
{
    const struct owner *owner = context;
    struct owned *row = tn__arena_alloc(&owner->report->arena, sizeof *row);
    const char *copy = tn__arena_text(&owner->report->arena, symbol, strlen(symbol));
    if (!row || !copy)
        return false;
    *row = (struct owned){copy, owner->input};
    return tsearch(row, &owner->report->symbols, by_symbol);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* A member of an archive, from its header on. */
struct member {
    uint64_t content, size, next;
    bool is_elf;
};

/* False: there is no member at the place. */
static bool read_member(const uint8_t *bytes, uint64_t size, uint64_t at, struct member *member)
{
    if (at > size || size - at < sizeof(struct ar_hdr))
        return false;
    const struct ar_hdr *header = (const void *)(bytes + at);
    char digits[sizeof header->ar_size + 1] = "";
    memcpy(digits, header->ar_size, sizeof header->ar_size);
    member->content = at + sizeof *header;
    member->size = tn__min64(strtoull(digits, NULL, 10), size - member->content);
    member->next = member->content + member->size + (member->size & 1);
    member->is_elf = member->size >= sizeof(Elf64_Ehdr) && !memcmp(bytes + member->content, ELFMAG, SELFMAG);
    return true;
}

static bool is_archive(const uint8_t *bytes, uint64_t size)
{
    return size >= SARMAG && !memcmp(bytes, ARMAG, SARMAG);
}

static bool note_input(struct report *report, const struct tn_input *input)
{
    struct owner owner = {report, base_name(input->name)};
    struct member member;
    if (!is_archive(input->bytes, input->length))
        return report_each_symbol(input->bytes, input->length, note_symbol, &owner);
    for (uint64_t at = SARMAG; read_member(input->bytes, input->length, at, &member); at = member.next)
        if (member.is_elf &&
            !report_each_symbol((const uint8_t *)input->bytes + member.content, member.size, note_symbol, &owner))
            return false;
    return true;
}

static bool note_inputs(struct report *report)
{
    const struct job *job = report->job;
    for (size_t i = 0; i < job->object_count; i++)
        if (i != job->image_at && !note_input(report, &job->objects[i]))
            return false;
    return true;
}

const char *report_input_of(const struct report *report, const char *symbol)
{
    struct owned wanted = {symbol, NULL};
    struct owned **found = tfind(&wanted, &report->symbols, by_symbol);
    return found ? (*found)->input : NULL;
}

static bool find_images(struct report *report)
{
    const struct file file = {.name = report->name, .bytes = report->bytes, .size = report->size};
    struct tn__image_view view;
    struct tn_error err;
    for (size_t place = 0; tool_next_image(&file, &place, &report->arena, &view, &err);) {
        if (!tn__grow(NULL, &report->view, &report->view_capacity, report->view_count + 1, sizeof view))
            return false;
        report->view[report->view_count++] = view;
    }
    return true;
}

const struct tn__image_view *report_image_of(const struct report *report, const char *symbol, size_t *stem,
                                             unsigned *target)
{
    const char *number = strrchr(symbol, '.');
    char *end = NULL;
    unsigned long value = number ? strtoul(number + 1, &end, 10) : 0;
    if (!number || end == number + 1 || *end)
        return NULL;
    for (size_t i = 0; i < report->view_count; i++) {
        const struct tn__image_view *view = &report->view[i];
        size_t length = strlen(tn__image_name(view)), before = (size_t)(number - symbol);
        if (before < length + 2 || symbol[before - length - 1] != '.' ||
            strncmp(symbol + before - length, tn__image_name(view), length) != 0 ||
            value >= view->tables[TN__IMAGE_TARGET_TABLE].count)
            continue;
        *stem = before - length - 1;
        *target = (unsigned)value;
        return view;
    }
    return NULL;
}

/* ---- the whole ---- */

static bool divide_archive(struct report *report)
{
    struct member member;
    struct leaf around = {"the file", "headers", "archive", "", "", "", false, 0, SARMAG, 0};
    bool good = report_add(report, &around);
    uint64_t at = SARMAG;
    for (; good && read_member(report->bytes, report->size, at, &member); at = tn__min64(member.next, report->size)) {
        struct leaf content = {"the file", "symbols", "members of the archive", "",          "",
                               "",         false,     member.content,           member.size, 0};
        around.offset = at;
        around.size = member.content - at + (tn__min64(member.next, report->size) - member.content - member.size);
        good = report_add(report, &around) &&
               (member.is_elf ? report_elf(report, member.content, member.size) : report_add(report, &content));
    }
    around.offset = at;
    around.size = report->size - at;
    return good && report_add(report, &around);
}

static bool divide(struct report *report)
{
    if (!find_images(report) || !note_inputs(report))
        return false;
    bool good = is_archive(report->bytes, report->size) ? divide_archive(report) : report_elf(report, 0, report->size);
    if (good)
        merge_leaves(report);
    return good;
}

static bool write_page(const struct report *report, const char *name)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool good = out && report_write(report, out) && !ferror(out);
    good = out && fclose(out) == 0 && good;
    good = good ? tool_write(name, text, size) : (tool_fail(STATUS_FAILURE, "out of memory"), false);
    free(text);
    return good;
}

static void ignore(void *row)
{
    (void)row; /* of the arena */
}

bool tool_write_report(const struct job *job)
{
    const struct tn_buffer *file = &job->out[TN_IMAGE_OBJECTS];
    struct report report = {.job = job,
                            .name = base_name(job->settings->output),
                            .bytes = (const uint8_t *)file->data,
                            .size = file->size,
                            .runtime_end = job->stub_end};
    bool good = divide(&report);
    if (!good)
        tool_fail(STATUS_FAILURE, "--report: out of memory");
    good = good && write_page(&report, job->settings->report);
    tdestroy(report.symbols, ignore);
    tn__free(NULL, report.leaves);
    tn__free(NULL, report.view);
    tn__arena_free(&report.arena);
    return good;
}
