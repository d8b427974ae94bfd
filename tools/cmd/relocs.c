/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon relocs: the relocation tables, as the linker itself reads them. */

#include <string.h>

#include "link/arch/reloc.h"
#include "lib/tool.h"

static const char *const values[] = {
    [TN__V_UNSUPPORTED] = "refused",
    [TN__V_NONE] = "nothing",
    [TN__V_S_A] = "S + A",
    [TN__V_S_A_P] = "S + A - P",
    [TN__V_S_A_GOT] = "S + A - GOT",
    [TN__V_G_A] = "G + A",
    [TN__V_G_A_P] = "G + A - P",
    [TN__V_G_A_GOT] = "G + A - GOT",
    [TN__V_GOT_A_P] = "GOT + A - P",
    [TN__V_Z_A] = "Z + A",
    [TN__V_PAGE_S_A_P] = "Page(S + A) - Page(P)",
    [TN__V_PAGE_G_A_P] = "Page(G + A) - Page(P)",
    [TN__V_F_S_A] = "F + S + A",
    [TN__V_F_MINUS] = "F - (S + A)",
    [TN__V_AT_S] = "value at S, + A",
};
static const char *const fields[] = {
    [TN__F_LE8] = "le8", [TN__F_LE16] = "le16", [TN__F_LE32] = "le32", [TN__F_LE64] = "le64"};
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
    {TN__R_TLS, "tls"},       {TN__R_RELAX, "relax"},       {TN__R_PROGRAM, "program"},
};

static const char *field_name(const struct tn__arch *arch, const struct tn__row *row)
{
    return row->field < TN__FIELDS ? fields[row->field] : arch->encoders[row->field - TN__FIELDS].name;
}

static void print_row(const struct tn__arch *arch, unsigned type, const struct tn__row *row)
{
    char checks[64] = "";
    for (size_t i = 0; i < TN_COUNT(flags); i++)
        if (row->flags & flags[i].flag) {
            strcat(checks, *checks ? " " : "");
            strcat(checks, flags[i].text);
        }
    bool does = row->value != TN__V_NONE && row->value != TN__V_UNSUPPORTED;
    char bits[8] = "";
    if (does)
        snprintf(bits, sizeof bits, "%u", row->bits);
    printf("%4u  %-32s %-12s %-5s %4s  %-20s %s\n", type, row->name, values[row->value],
           does ? field_name(arch, row) : "", bits, checks, slots[row->slot]);
}

static void print_arch(const struct tn__arch *arch)
{
    printf("%s: S symbol, A addend, P place, G the symbol's GOT slot, GOT the object's, Z symbol size\n\n", arch->name);
    printf("%4s  %-32s %-12s %-5s %4s  %-20s %s\n", "type", "name", "value", "field", "bits", "checks",
           "GOT slot holds");
    for (unsigned type = 0; type < arch->row_count; type++)
        if (arch->rows[type].value != TN__V_UNKNOWN)
            print_row(arch, type, &arch->rows[type]);
}

int command_relocs(struct settings *settings)
{
    const char *wanted = settings->file_count ? settings->files[0] : NULL;
    if (settings->file_count > 1)
        return tool_fail(STATUS_USAGE, "one ARCH at a time, not %d", settings->file_count);
    bool any = false;
    for (const struct tn__arch *const *arch = tn__architectures; *arch; arch++) {
        if (wanted && strcmp(wanted, (*arch)->name))
            continue;
        if (any)
            putchar('\n');
        print_arch(*arch);
        any = true;
    }
    if (any)
        return STATUS_OK;
    tool_fail(STATUS_USAGE, "unknown architecture '%s'; there are:", wanted);
    for (const struct tn__arch *const *arch = tn__architectures; *arch; arch++)
        fprintf(stderr, "  %s\n", (*arch)->name);
    return STATUS_USAGE;
}
