/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "maps.h"

struct mapping mappings[4000];
size_t mapping_count;

void read_mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    assert_non_null(maps);
    mapping_count = 0;
    while (fgets(line, sizeof line, maps)) {
        struct mapping *m = &mappings[mapping_count++];
        unsigned long start, end;
        assert_int_equal(sscanf(line, "%lx-%lx %4s", &start, &end, m->prot), 3);
        m->start = start, m->end = end;
        m->memfd = strstr(line, "/memfd:tenon") != NULL;
        assert_in_range(mapping_count, 1, COUNT(mappings) - 1);
        if (m->prot[1] == 'w' && m->prot[2] == 'x')
            fail_msg("writable and executable: %s", line);
    }
    fclose(maps);
}

const struct mapping *mapping_at(const void *address)
{
    read_mappings();
    for (size_t i = 0; i < mapping_count; i++)
        if ((uintptr_t)address - mappings[i].start < mappings[i].end - mappings[i].start)
            return &mappings[i];
    fail_msg("%p is not mapped", address);
    return NULL;
}

void assert_prot(const void *address, const char *prot)
{
    assert_string_equal(mapping_at(address)->prot, prot);
}

size_t count_memfd_mappings(const char *prot)
{
    size_t count = 0;
    read_mappings();
    for (size_t i = 0; i < mapping_count; i++)
        count += mappings[i].memfd && !strcmp(mappings[i].prot, prot);
    return count;
}

void check_aliases(size_t writable, size_t sealed)
{
    assert_int_equal(count_memfd_mappings("rw-s"), writable);
    assert_int_equal(count_memfd_mappings("---s"), sealed);
}
