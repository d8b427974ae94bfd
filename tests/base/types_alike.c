/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Types whose objects are laid out alike, and what is said of those that are not. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/types.h"

static void visit_one(void *object, tn_visit_slot *slot, void *context)
{
    slot(context, object);
}

static void visit_none(void *object, tn_visit_slot *slot, void *context)
{
    (void)object, (void)slot, (void)context;
}

static const uint32_t ordered[] = {0, 16}, reversed[] = {16, 0}, others[] = {0, 24}, far[] = {0, 16, 1024};

#define FIXED .kind = TN_KIND_FIXED, .alignment = 8, .size = 2048
#define ARRAY .kind = TN_KIND_STRUCTS, .alignment = 8, .size = 16, .element = 32

static const struct {
    struct tn_type a, b;
    const char *difference; /* NULL: they are alike */
} cases[] = {
    {{FIXED, .references = 5}, {FIXED, .references = 5, .name = "another"}, NULL},
    {{FIXED, .references = 5}, {FIXED, .offsets = ordered, .offset_count = 2}, NULL},
    {{FIXED, .offsets = reversed, .offset_count = 2}, {FIXED, .offsets = ordered, .offset_count = 2}, NULL},
    {{FIXED, .references = 0}, {FIXED, .offsets = ordered, .offset_count = 0}, NULL},
    {{FIXED, .references = 5, .length = 8}, {FIXED, .references = 5, .length = 16}, NULL}, /* it has no elements */
    {{FIXED, .references = 5}, {FIXED, .references = 1}, "'references' differs (only the first has one at offset 16)"},
    {{FIXED, .references = 1}, {FIXED, .references = 5}, "'references' differs (only the second has one at offset 16)"},
    {{FIXED, .references = 2}, {FIXED, .references = 1}, "'references' differs (only the second has one at offset 0)"},
    {{FIXED, .references = UINT64_C(1) << 63}, {FIXED}, "'references' differs (only the first has one at offset 504)"},
    {{FIXED, .references = 5},
     {FIXED, .offsets = others, .offset_count = 2},
     "'references' differs (only the first has one at offset 16)"},
    {{FIXED, .references = 5},
     {FIXED, .offsets = far, .offset_count = 3},
     "'references' differs (only the second has one at offset 1024)"},
    {{FIXED, .offsets = others, .offset_count = 2},
     {FIXED, .offsets = reversed, .offset_count = 2},
     "'references' differs (only the second has one at offset 16)"},
    {{.kind = TN_KIND_LEAF, .alignment = 8, .size = 8},
     {.kind = TN_KIND_FIXED, .alignment = 8, .size = 8},
     "'kind' differs (leaf and fixed)"},
    {{.kind = TN_KIND_CUSTOM, .alignment = 8, .size = 8},
     {.kind = TN_KIND_CUSTOM + 1, .alignment = 8, .size = 8},
     "'kind' differs (custom and unknown)"},
    {{.kind = TN_KIND_LEAF, .alignment = 8, .size = 8},
     {.kind = TN_KIND_LEAF, .alignment = 16, .size = 8},
     "'alignment' differs (8 and 16)"},
    {{.kind = TN_KIND_LEAF, .alignment = 8, .size = 24},
     {.kind = TN_KIND_LEAF, .alignment = 8, .size = 16},
     "'size' differs (24 and 16)"},
    {{ARRAY, .references = 1}, {ARRAY, .references = 1}, NULL},
    {{ARRAY, .references = 1}, {ARRAY, .references = 1, .length = 8}, "'length' differs (0 and 8)"},
    {{.kind = TN_KIND_STRUCTS, .alignment = 8, .size = 16, .element = 40},
     {.kind = TN_KIND_STRUCTS, .alignment = 8, .size = 16, .element = 32},
     "'element' differs (40 and 32)"},
    {{.kind = TN_KIND_CUSTOM, .visit = visit_one}, {.kind = TN_KIND_CUSTOM, .visit = visit_one}, NULL},
    {{.kind = TN_KIND_CUSTOM, .visit = visit_one}, {.kind = TN_KIND_CUSTOM}, NULL}, /* the one of a file */
    {{.kind = TN_KIND_CUSTOM, .visit = visit_one}, {.kind = TN_KIND_CUSTOM, .visit = visit_none}, "'visit' differs"},
};

static void differences_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        char difference[TN__DIFFERENCE] = "";
        bool differ = tn__types_differ(&cases[i].a, &cases[i].b, difference);
        if (differ != (cases[i].difference != NULL) || (differ && strcmp(difference, cases[i].difference) != 0))
            fail_msg("case %zu: %s", i, differ ? difference : "alike");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(differences_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
