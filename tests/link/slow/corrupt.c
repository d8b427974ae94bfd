/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* As tests/link/format/corrupt.c, with whole compiled objects: unwind data, thread-local data, indirect functions,
 * groups, gathered sections, debug sections. */

#include "spoil.h"

static const char *const objects[] = {
    "unwind.gcc+-O2+-fPIC+-fexceptions+-funwind-tables.o",
    "oracle.gcc+-O2+-fPIC.o",
    "ifunc.gcc+-O2+-fno-pic.o",
    "matrix_a.gcc+-O2+-fPIC+-ffunction-sections+-fdata-sections+-g.o",
    "matrix_a.gcc+-O0+-fno-pic+-fcommon.o",
    "comdat_1.o",
    "gather_1.o",
    "order_1.o",
    "strip.o",
};

static void prefixes(void **state)
{
    spoil_prefixes(read_bytes(data_file(*(const char **)*state)), SPOIL_ELSEWHERE);
}

static void bytes(void **state)
{
    spoil_bytes(read_bytes(data_file(*(const char **)*state)), SPOIL_ELSEWHERE);
}

int main(void)
{
    int failed = run_rows("prefixes", objects, COUNT(objects), sizeof *objects, prefixes);
    return failed + run_rows("bytes", objects, COUNT(objects), sizeof *objects, bytes);
}
