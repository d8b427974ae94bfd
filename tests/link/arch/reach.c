/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the fast path of instructions relies on: a value within an encoder's reach fits every linear row with that field
 * (struct tn__encoder). The tests of each table's rows have the limits themselves. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include <tenon/format.h>

#include "link/arch/reloc.h"
#include "link/model/object.h"

static void check_row(const struct tn_format *format, const struct tn__row *row)
{
    const struct tn__encoder *encoder = &format->arch->encoders[row->field - TN__FIELDS];
    bool rounded = row->flags & TN__R_ROUNDED, is_signed = row->flags & TN__R_SIGNED;
    bool fits = !is_signed || encoder->reach <= UINT64_C(1) << (row->bits - 1);
    bool alike = !(rounded || is_signed) || encoder->plus == (rounded ? 0x800 : 0);
    if (!fits || !alike)
        fail_msg("%s, %s: %u bits, and a reach of %#llx", format->name, row->name, row->bits,
                 (unsigned long long)encoder->reach);
    assert_false(row->flags & TN__R_UNSIGNED);
    assert_int_equal(row->relative, row->value != TN__V_S_A);
    assert_int_equal(row->paged, row->value == TN__V_PAGE_S_A_P);
}

static void values_within_reach_fit(void **state)
{
    static const struct {
        const struct tn_format *format;
        unsigned least; /* rows that are linear */
    } cases[] = {{&tn_format_elf_aarch64, 40}, {&tn_format_elf_riscv64, 15}, {&tn_format_macho_aarch64, 3},
                 {&tn_format_coff_aarch64, 7}, {&tn_format_elf_x86_64, 0},   {&tn_format_macho_x86_64, 0},
                 {&tn_format_coff_x86_64, 0}};
    (void)state;
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        unsigned found = 0;
        for (uint32_t type = 0; type < cases[i].format->row_count; type++)
            if (cases[i].format->rows[type].linear) {
                check_row(cases[i].format, &cases[i].format->rows[type]);
                found++;
            }
        assert_true(found >= cases[i].least);
        assert_true(cases[i].least || !found); /* fields of x86-64 are whole bytes */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_within_reach_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
