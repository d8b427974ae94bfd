/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "dumped.h"

struct registers dump_area;
int dump_level;

void add_dump(struct tn_library *library)
{
    struct tn_error err;
    assert_ok(tn_define(library, "dump_area", &dump_area, &err), &err);
    assert_ok(tn_define(library, "dump_level", &dump_level, &err), &err);
    assert_ok(tn_add_file(library, data_file("lazy_dump.o"), &err), &err);
}

struct registers different_registers(void)
{
    struct registers in;
    for (size_t i = 0; i < sizeof in; i++)
        ((uint8_t *)&in)[i] = (uint8_t)(i * 37 + i / 256);
    return in;
}

void check_registers(const struct registers *in, int level)
{
    struct run runs[2];
    for (size_t i = 0; i < GENERAL_REGISTERS; i++)
        assert_int_equal(dump_area.general[i], in->general[i]);
    assert_int_equal(dump_area.general[WORDS_IN_MEMORY], 0x1111);
    assert_int_equal(dump_area.general[WORDS_IN_MEMORY + 1], 0x2222);
    assert_int_equal(dump_area.general[STACK_POINTER] % 16, SP_AT_ENTRY);
    for (size_t i = vector_registers(level, runs); i--;)
        for (size_t j = 0; j < runs[i].count; j++) {
            size_t at = runs[i].at + j * runs[i].stride;
            assert_memory_equal(dump_area.vectors[0] + at, in->vectors[0] + at, runs[i].bytes);
        }
}
