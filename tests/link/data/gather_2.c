/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The other half: more entries, which only gather_1.c reads. */

struct entry {
    const char *text;
    int value;
};

__attribute__((used, section("entries"))) static const struct entry own[] = {{"third", 3}, {"fourth", 4}};

const struct entry *own_entry(void)
{
    return &own[1];
}
