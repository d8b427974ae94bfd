/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Half of what gather.c links: entries of a table, and who reads it. */

struct entry {
    const char *text;
    int value;
};

__attribute__((used, section("entries"))) static const struct entry own[] = {{"first", 1}, {"second", 2}};

extern const struct entry __start_entries[], __stop_entries[] __attribute__((visibility("hidden")));

/* The values' digits, in order. */
int digits(void)
{
    int all = 0;
    for (const struct entry *entry = __start_entries; entry < __stop_entries; entry++)
        all = all * 10 + (entry->text ? entry->value : 0);
    return all;
}

extern const int __start_zeros[] __attribute__((weak)), __stop_zeros[] __attribute__((weak));
/* A section without contents: compilers have no word for this, so the rest of their directive is made a comment. */
#ifdef __aarch64__
__attribute__((section("zeros,\"aw\",@nobits//"))) int zero_words[5];
#else
__attribute__((section("zeros,\"aw\",@nobits#"))) int zero_words[5];
#endif

int count_zeros(void)
{
    int sum = 0;
    for (const int *zero = __start_zeros; zero < __stop_zeros; zero++)
        sum += 1 + *zero;
    return sum;
}

extern const int __start_nothing[] __attribute__((weak));

int has_nothing(void)
{
    return __start_nothing != 0;
}
