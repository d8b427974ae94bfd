/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The page of tenon build --report. It is one file that loads nothing, and complete without its script, which only
 * sorts tables. Texts from the file are escaped wherever they stand, and are in no script. */

#include <stdlib.h>
#include <string.h>

#include "cmd/report.h"
#include "lib/show.h"

/* ---- text ---- */

/* Characters that HTML gives a meaning, and control characters, as references; what is no UTF-8 is taken for
 * Latin-1. */
static void put_part(FILE *out, const char *text, size_t length)
{
    for (size_t size; length; text += size, length -= size) {
        unsigned char c = (unsigned char)*text;
        size = show_character(text, length);
        if (size && c >= 0x80)
            fwrite(text, 1, size, out);
        else if (c < ' ' || c == 0x7f)
            fputs("&#xfffd;", out);
        else if (!size || strchr("&<>\"'", c))
            fprintf(out, "&#%u;", c);
        else
            putc(c, out);
        size += !size;
    }
}

static void put_text(FILE *out, const char *text)
{
    put_part(out, text, strlen(text));
}

static double percent(const struct report *report, uint64_t size)
{
    return report->size ? 100.0 * (double)size / (double)report->size : 0;
}

/* ---- groups ---- */

/* Leaves that have a text in common. */
struct group {
    const char *name;
    uint64_t size, parts;
    const struct leaf *const *leaves;
    size_t count;
};

typedef const char *key_of(const struct leaf *leaf);

static const char *package_key(const struct leaf *leaf)
{
    return leaf->package;
}

static const char *kind_key(const struct leaf *leaf)
{
    return leaf->kind;
}

static const char *section_key(const struct leaf *leaf)
{
    return leaf->section;
}

static const char *function_key(const struct leaf *leaf)
{
    return leaf->is_function ? leaf->symbol : "";
}

static const char *target_key(const struct leaf *leaf)
{
    return leaf->target;
}

static const char *type_key(const struct leaf *leaf)
{
    return leaf->type;
}

static key_of *sort_key; /* of by_key: qsort passes no argument, and one thread writes the page */

static int by_key(const void *a, const void *b)
{
    return strcmp(sort_key(*(const struct leaf *const *)a), sort_key(*(const struct leaf *const *)b));
}

static int largest_first(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    return x->size != y->size ? (x->size < y->size) - (x->size > y->size) : strcmp(x->name, y->name);
}

/* Sorts the leaves by a key, and returns the groups, largest first, which the caller frees. NULL: memory is out. */
static struct group *group_leaves(const struct leaf **leaves, size_t count, key_of *key, size_t *group_count)
{
    struct group *groups = calloc(count + 1, sizeof *groups);
    *group_count = 0;
    if (!groups)
        return NULL;
    sort_key = key;
    qsort(leaves, count, sizeof *leaves, by_key);
    for (size_t i = 0; i < count; i++) {
        struct group *last = *group_count ? &groups[*group_count - 1] : NULL;
        if (!last || strcmp(last->name, key(leaves[i])) != 0) {
            last = &groups[(*group_count)++];
            *last = (struct group){key(leaves[i]), 0, 0, &leaves[i], 0};
        }
        last->size += leaves[i]->size;
        last->parts += leaves[i]->parts;
        last->count++;
    }
    qsort(groups, *group_count, sizeof *groups, largest_first);
    return groups;
}

/* ---- the treemap ---- */

struct box {
    double x, y, width, height;
};

/* The least favourable ratio of the sides of `size` in a row along `side`, which sizes of `row` share. */
static double ratio(double size, double row, double side)
{
    double other = row / side, own = size / other;
    return own > other ? own / other : other / own;
}

/* Divides a box among groups, largest first, in rows whose parts are as square as they can be ("Squarified Treemaps",
 * Bruls, Huizing and van Wijk). */
static void place(const struct group *groups, size_t count, struct box box, struct box *boxes)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)groups[i].size;
    for (size_t i = 0, end; i < count; i = end) {
        bool is_wide = box.width > box.height;
        double side = is_wide ? box.height : box.width, scale = sum > 0 ? box.width * box.height / sum : 0, row = 0;
        double largest = (double)groups[i].size * scale;
        for (end = i; end < count; end++) {
            double size = (double)groups[end].size * scale, before = ratio(largest, row, side);
            double last = end > i ? ratio((double)groups[end - 1].size * scale, row, side) : 0;
            double now = ratio(largest, row + size, side), own = ratio(size, row + size, side);
            if (end > i && (now > own ? now : own) > (before > last ? before : last))
                break;
            row += size;
        }
        double depth = side > 0 ? row / side : 0, at = 0;
        for (size_t k = i; k < end; k++) {
            double length = depth > 0 ? (double)groups[k].size * scale / depth : 0;
            boxes[k] = is_wide ? (struct box){box.x, box.y + at, depth, length}
                               : (struct box){box.x + at, box.y, length, depth};
            at += length;
            sum -= (double)groups[k].size;
        }
        if (is_wide)
            box = (struct box){box.x + depth, box.y, box.width - depth, box.height};
        else
            box = (struct box){box.x, box.y + depth, box.width, box.height - depth};
    }
}

static const char *leaf_key(const struct leaf *leaf)
{
    return *leaf->symbol ? leaf->symbol : *leaf->type ? leaf->type : leaf->section;
}

/* A level of the map: package, kind, leaf. */
static key_of *const levels[] = {package_key, kind_key, leaf_key};
enum { LEVELS = sizeof levels / sizeof levels[0], LABEL = 14, WIDTH_OF_LETTER = 7 };

static const char *class_of(const char *kind)
{
    static const struct {
        const char *kind, *name;
    } rows[] = {{"code", "code"},
                {"read-only data", "rodata"},
                {"data", "data"},
                {"saved objects", "heap"},
                {"relocations", "tables"},
                {"tables of the image", "tables"},
                {"unwind tables", "unwind"},
                {"stack maps", "unwind"}};
    for (size_t i = 0; i < TN_COUNT(rows); i++)
        if (strcmp(rows[i].kind, kind) == 0)
            return rows[i].name;
    return "other";
}

static void put_box(FILE *out, const struct report *report, const struct box *box, const struct group *group, int level)
{
    fprintf(out, "<rect class=\"l%d %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>", level,
            level ? class_of((*group->leaves)->kind) : "", box->x, box->y, box->width, box->height);
    if (level)
        put_text(out, level > 1 ? (*group->leaves)->kind : (*group->leaves)->package);
    fputs(level ? ": " : "", out);
    put_text(out, *group->name ? group->name : "nothing by name");
    fprintf(out, ", %llu bytes, %.2f %%</title></rect>\n", (unsigned long long)group->size,
            percent(report, group->size));
}

/* The name, cut off where the box ends. */
static void put_label(FILE *out, const struct box *box, const char *name)
{
    int letters = (int)(box->width - 6) / WIDTH_OF_LETTER;
    if (letters < 3 || box->height < LABEL)
        return;
    size_t length = strlen(name), end = 0;
    for (size_t size; letters-- && end < length; end += size + !size)
        size = show_character(name + end, length - end);
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">", box->x + 3, box->y + LABEL - 3);
    put_part(out, name, end);
    fputs("</text>\n", out);
}

/* Boxes of less than a few pixels are left to the background of what they are in. */
static bool draw(FILE *out, const struct report *report, const struct leaf **leaves, size_t count, struct box box,
                 int level)
{
    enum { SMALLEST = 5 };
    size_t group_count;
    struct group *groups = group_leaves(leaves, count, levels[level], &group_count);
    struct box *boxes = calloc(group_count + 1, sizeof *boxes);
    bool good = groups && boxes;
    if (good)
        place(groups, group_count, box, boxes);
    for (size_t i = 0; good && i < group_count; i++) {
        struct box at = boxes[i];
        if (at.width * at.height < SMALLEST)
            continue;
        put_box(out, report, &at, &groups[i], level);
        put_label(out, &at, groups[i].name);
        if (level + 1 == LEVELS || at.width < 8 || at.height < LABEL + 6)
            continue;
        struct box inner = {at.x + 2, at.y + LABEL, at.width - 4, at.height - LABEL - 2};
        good = draw(out, report, (const struct leaf **)(uintptr_t)groups[i].leaves, groups[i].count, inner, level + 1);
    }
    free(groups);
    free(boxes);
    return good;
}

/* ---- tables ---- */

static void put_numbers(FILE *out, const struct report *report, uint64_t size, uint64_t parts)
{
    fprintf(out, "<td>%llu</td><td>%.2f</td><td>%llu</td>", (unsigned long long)size, percent(report, size),
            (unsigned long long)parts);
}

static void put_cell(FILE *out, const char *text)
{
    fputs("<td class=\"t\">", out);
    put_text(out, text);
    fputs("</td>", out);
}

static const struct table {
    const char *id, *title, *nothing; /* nothing: the row of all leaves without the text */
    key_of *key;
} tables[] = {{"package", "Packages", "", package_key},
              {"kind", "Kinds of contents", "", kind_key},
              {"target", "Targets", "everything but versions of functions", target_key},
              {"function", "Functions", "everything but functions", function_key},
              {"type", "Types of saved objects", "everything but saved objects", type_key},
              {"section", "Sections", "headers and padding", section_key}};

static bool put_table(FILE *out, const struct report *report, const struct table *table, const struct leaf **leaves)
{
    size_t count;
    struct group *groups = group_leaves(leaves, report->count, table->key, &count);
    if (!groups)
        return false;
    fprintf(out,
            "<details%s><summary>%s: %zu</summary>\n<table id=\"%s\"><thead><tr><th>Bytes</th><th>Percent</th>"
            "<th>Parts</th><th class=\"t\">Name</th></tr></thead><tbody>\n",
            strcmp(table->id, "package") == 0 || strcmp(table->id, "kind") == 0 ? " open" : "", table->title, count,
            table->id);
    for (size_t i = 0; i < count; i++) {
        fputs("<tr>", out);
        put_numbers(out, report, groups[i].size, groups[i].parts);
        if (*groups[i].name)
            put_cell(out, groups[i].name);
        else
            fprintf(out, "<td class=\"t\"><i>%s</i></td>", table->nothing);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></details>\n", out);
    free(groups);
    return true;
}

static int by_size(const void *a, const void *b)
{
    const struct leaf *x = *(const struct leaf *const *)a, *y = *(const struct leaf *const *)b;
    return x->size != y->size ? (x->size < y->size) - (x->size > y->size)
                              : (x->offset > y->offset) - (x->offset < y->offset);
}

static void put_leaves(FILE *out, const struct report *report, const struct leaf **leaves)
{
    qsort(leaves, report->count, sizeof(const struct leaf *), by_size);
    fprintf(out,
            "<details><summary>Everything: %zu</summary>\n<table id=\"leaves\"><thead><tr><th>Bytes</th>"
            "<th>Percent</th><th>Parts</th><th>First at</th><th class=\"t\">Package</th><th class=\"t\">Kind</th>"
            "<th class=\"t\">Section</th><th class=\"t\">Symbol</th><th class=\"t\">Target</th>"
            "<th class=\"t\">Type</th></tr></thead><tbody>\n",
            report->count);
    for (size_t i = 0; i < report->count; i++) {
        const struct leaf *leaf = leaves[i];
        const char *const texts[] = {leaf->package, leaf->kind, leaf->section, leaf->symbol, leaf->target, leaf->type};
        fputs("<tr>", out);
        put_numbers(out, report, leaf->size, leaf->parts);
        fprintf(out, "<td>%llu</td>", (unsigned long long)leaf->offset);
        for (size_t k = 0; k < TN_COUNT(texts); k++)
            put_cell(out, texts[k]);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></details>\n", out);
}

/* ---- the page ---- */

static const char style[] =
    ":root{color-scheme:light dark;--line:#8886}\n"
    "body{font:15px/1.45 system-ui,sans-serif;margin:1.5em auto;max-width:1240px;padding:0 1em}\n"
    "h1{font-size:1.4em;margin:0}p{margin:.3em 0 1em}\n"
    "svg{width:100%;height:auto;font:11px system-ui,sans-serif}\n"
    "rect{stroke:#fff;stroke-width:.6}text{fill:#111;pointer-events:none}\n"
    ".l0{fill:#d9dde3}.l1{fill-opacity:.55}.code{fill:#7fb2e5}.rodata{fill:#9fd3a8}.data{fill:#f0c97a}\n"
    ".heap{fill:#e59a9a}.tables{fill:#c3aee0}.unwind{fill:#8fd0cf}.other{fill:#c4c4bd}\n"
    "rect:hover{stroke:#000;stroke-width:1.5}\n"
    "summary{font-weight:600;padding:.4em 0;cursor:pointer}details{border-top:1px solid var(--line)}\n"
    "table{border-collapse:collapse;margin:0 0 1em}th,td{padding:.1em .9em .1em "
    "0;text-align:right;white-space:nowrap}\n"
    "th{position:sticky;top:0;background:Canvas}.t{text-align:left}td.t{overflow-wrap:anywhere;white-space:normal}\n"
    "th[aria-sort]::after{content:' \\2195'}th[aria-sort=ascending]::after{content:' \\2191'}\n"
    "th[aria-sort=descending]::after{content:' \\2193'}th[aria-sort]{cursor:pointer}\n"
    "tbody tr:hover{background:#8882}td{font-variant-numeric:tabular-nums}\n";

/* Sorts a table by the column whose head is clicked, or chosen with the keyboard: numbers largest first. */
static const char script[] =
    "for (const head of document.querySelectorAll('th')) {\n"
    "  const sort = () => {\n"
    "    const row = head.parentNode, body = row.parentNode.nextSibling, column = head.cellIndex;\n"
    "    const isText = head.className === 't', was = head.ariaSort;\n"
    "    for (const other of row.cells) other.ariaSort = 'none';\n"
    "    head.ariaSort = was === 'none' ? (isText ? 'ascending' : 'descending')\n"
    "      : was === 'ascending' ? 'descending' : 'ascending';\n"
    "    const sign = head.ariaSort === 'ascending' ? 1 : -1, text = r => r.cells[column].textContent;\n"
    "    const order = isText ? (a, b) => text(a).localeCompare(text(b)) : (a, b) => text(a) - text(b);\n"
    "    body.append(...[...body.rows].sort((a, b) => sign * order(a, b)));\n"
    "  };\n"
    "  head.ariaSort = 'none';\n"
    "  head.tabIndex = 0;\n"
    "  head.onclick = sort;\n"
    "  head.onkeydown = event => { if (event.key === 'Enter') sort(); };\n"
    "}\n";

static bool put_body(FILE *out, const struct report *report, const struct leaf **leaves)
{
    static const struct box all = {0, 0, 1200, 640};
    bool good = true;
    fputs("<h1>", out);
    put_text(out, report->name);
    fprintf(out, "</h1>\n<p>%llu bytes, built by tenon %s. Each byte of the file is in one row of each table.</p>\n",
            (unsigned long long)report->size, tn_version());
    fputs("<svg viewBox=\"0 0 1200 640\" role=\"img\" aria-label=\"The contents of the file as areas; the tables have "
          "the "
          "same in text\">\n",
          out);
    good = draw(out, report, leaves, report->count, all, 0);
    fputs("</svg>\n", out);
    for (size_t i = 0; i < TN_COUNT(tables) && good; i++)
        good = put_table(out, report, &tables[i], leaves);
    put_leaves(out, report, leaves);
    return good;
}

bool report_write(const struct report *report, FILE *out)
{
    const struct leaf **leaves = calloc(report->count + 1, sizeof *leaves);
    if (!leaves)
        return false;
    for (size_t i = 0; i < report->count; i++)
        leaves[i] = &report->leaves[i];
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
          "script-src 'unsafe-inline'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width\">\n<title>",
          out);
    put_text(out, report->name);
    fprintf(out, " - tenon build</title>\n<style>\n%s</style></head><body>\n", style);
    bool good = put_body(out, report, leaves);
    fprintf(out, "<script>\n%s</script>\n</body></html>\n", script);
    free(leaves);
    return good;
}
