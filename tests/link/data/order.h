/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions that note in which order they ran. The same objects are linked into an ordinary static program, whose order
 * is the right one (order.c). */

void note(const char *text);

#define INIT(name, ...)                                                                                                \
    __attribute__((constructor __VA_ARGS__)) static void name(void)                                                    \
    {                                                                                                                  \
        note(#name " " WHO);                                                                                           \
    }
#define FINI(name, ...)                                                                                                \
    __attribute__((destructor __VA_ARGS__)) static void name(void)                                                     \
    {                                                                                                                  \
        note(#name " " WHO);                                                                                           \
    }
#define IN_ARRAY(section_name, name)                                                                                   \
    static void name(void)                                                                                             \
    {                                                                                                                  \
        note(#name " " WHO);                                                                                           \
    }                                                                                                                  \
    __attribute__((section(section_name), used)) static void (*const pointer_to_##name)(void) = name;

INIT(init_1)
INIT(init_2)
INIT(init_101, (101))
INIT(init_200, (200))
INIT(init_1000, (1000))
INIT(init_1000_again, (1000))
INIT(init_65535, (65535))
FINI(fini_1)
FINI(fini_2)
FINI(fini_101, (101))
FINI(fini_200, (200))
FINI(fini_65535, (65535))
