/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon relocs: the relocation tables, as the linker itself reads them. */

#include <string.h>

#include "link/arch/reloc.h"
#include "lib/tool.h"
#include "link/model/object.h"

static const char *const values[] = {
    [TN__V_UNSUPPORTED] = "refused",
    [TN__V_NONE] = "nothing",
    [TN__V_S_A] = "S + A",
    [TN__V_S_A_P] = "S + A - P",
    [TN__V_BRANCH] = "S + A - P",
    [TN__V_S_A_GOT] = "S + A - GOT",
    [TN__V_G_A] = "G + A",
    [TN__V_G_A_P] = "G + A - P",
    [TN__V_G_A_GOT] = "G + A - GOT",
    [TN__V_GOT_A_P] = "GOT + A - P",
    [TN__V_Z_A] = "Z + A",
    [TN__V_PAGE_S_A_P] = "Page(S + A) - Page(P)",
    [TN__V_PAGE_G_A_P] = "Page(G + A) - Page(P)",
    [TN__V_G_A_PAGE_GOT] = "G + A - Page(GOT)",
    [TN__V_F_S_A] = "F + S + A",
    [TN__V_F_MINUS] = "F - (S + A)",
    [TN__V_AT_S] = "value at S, + A",
    [TN__V_MINUEND] = "(S + A)",
    [TN__V_SUBTRACT] = "(S + A) at P, - (S + A)",
    [TN__V_S_A_BASE] = "S + A - base",
    [TN__V_S_A_SECTION] = "S + A - section",
    [TN__V_SECTION_A] = "section number + A",
};
static const char *const fields[] = {
    [TN__F_LE8] = "le8", [TN__F_LE16] = "le16", [TN__F_LE32] = "le32", [TN__F_LE64] = "le64", [TN__F_ULEB128] = "uleb"};
static const char *const slots[] = {
    [TN__SLOT_NONE] = "",
    [TN__SLOT_ADDRESS] = "address",
    [TN__SLOT_TLS_INDEX] = "TLS index",
    [TN__SLOT_TLS_BASE] = "TLS base",
    [TN__SLOT_TLS_DESC] = "TLS descriptor",
};
_Static_assert(TN_COUNT(values) == TN__VALUES && TN_COUNT(fields) == TN__FIELDS && TN_COUNT(slots) == TN__SLOTS,
               "every kind has a name");

static const struct {
    unsigned flag;
    const char *text;
} flags[] = {
    {TN__R_SIGNED, "signed"}, {TN__R_UNSIGNED, "unsigned"}, {TN__R_STUB, "stub"},       {TN__R_LOW, "low"},
    {TN__R_TLS, "tls"},       {TN__R_PROGRAM, "program"},   {TN__R_ROUNDED, "rounded"},
};

static const char *field_name(const struct tn__arch *arch, const struct tn__row *row)
{
    return row->field < TN__FIELDS ? fields[row->field] : arch->encoders[row->field - TN__FIELDS].name;
}

static void add_word(char *text, const char *word)
{
    strcat(text, *text ? " " : "");
    strcat(text, word);
}

static void print_row(const struct tn__arch *arch, unsigned type, const struct tn__row *row)
{
    char checks[64] = "";
    for (size_t i = 0; i < TN_COUNT(flags); i++)
        if (row->flags & flags[i].flag)
            add_word(checks, flags[i].text);
    if (row->relax)
        add_word(checks, "relax");
    bool does = row->value != TN__V_NONE && row->value != TN__V_UNSUPPORTED;
    char bits[8] = "";
    if (does)
        snprintf(bits, sizeof bits, "%u", row->bits);
    printf("%4u  %-32s %-12s %-5s %4s  %-20s %s\n", type, row->name, values[row->value],
           does ? field_name(arch, row) : "", bits, checks, slots[row->slot]);
}

static void print_format(const struct tn_format *format)
{
    printf("%s: S symbol, A addend, P place, G the symbol's GOT slot, GOT the object's, Z symbol size\n\n",
           format->name);
    printf("%4s  %-32s %-12s %-5s %4s  %-20s %s\n", "type", "name", "value", "field", "bits", "checks",
           "GOT slot holds");
    for (unsigned type = 0; type < format->row_count; type++)
        if (format->rows[type].value != TN__V_UNKNOWN)
            print_row(format->arch, type, &format->rows[type]);
}

int command_relocs(struct settings *settings)
{
    const char *wanted = settings->file_count ? settings->files[0] : NULL;
    if (settings->file_count > 1)
        return tool_fail(STATUS_USAGE, "one FORMAT at a time, not %d", settings->file_count);
    bool any = false;
    for (const struct tn_format *const *format = tool_formats; *format; format++) {
        if (wanted && strcmp(wanted, (*format)->name))
            continue;
        if (any)
            putchar('\n');
        print_format(*format);
        any = true;
    }
    if (any)
        return STATUS_OK;
    tool_fail(STATUS_USAGE, "unknown format '%s'; there are:", wanted);
    for (const struct tn_format *const *format = tool_formats; *format; format++)
        fprintf(stderr, "  %s\n", (*format)->name);
    return STATUS_USAGE;
}
