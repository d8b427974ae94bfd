/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "answers.h"

#include <stdlib.h>

#include "elf_builder.h"

static void build(struct answer *answer, unsigned number, size_t size)
{
    static struct elf elf;
    uint8_t *code = calloc(1, size), *constants = calloc(1, size);
    answer->value = (int)(number * 2654435761U >> 1);
    answer->size = size;
    snprintf(answer->name, sizeof answer->name, "function_%u", number);
    put_answer(code, (uint32_t)answer->value);
    memset(constants, answer->value, size);
    memset(&elf, 0, sizeof elf);
    elf_function(&elf, answer->name, elf_code(&elf, code, size), 0);
    unsigned section = elf_section(&elf, ".rodata", SHT_PROGBITS, SHF_ALLOC, constants, size);
    char name[48];
    snprintf(name, sizeof name, "constants_of_%s", answer->name);
    elf_symbol(&elf, name, STB_GLOBAL, STT_OBJECT, section, 0, size);
    answer->object = elf_finish(&elf);
    free(code);
    free(constants);
}

void answer_check(const struct fixture *f, const struct answer *answer)
{
    assert_int_equal(call(f, answer->name), answer->value);
}

void answer_add(const struct fixture *f, struct answer *answer, unsigned number, size_t size)
{
    struct tn_error err;
    build(answer, number, size);
    assert_ok(tn_tracker_create(f->library, &answer->owner, &err), &err);
    const struct tn_input input = {.size = sizeof input,
                                   .name = answer->name,
                                   .bytes = answer->object.at,
                                   .length = answer->object.size,
                                   .owner = answer->owner};
    assert_ok(tn_add_object(f->library, &input, &err), &err);
}

int answer_try_link(const struct fixture *f, struct answer *answer, unsigned number, size_t size, struct tn_error *err)
{
    void *address;
    answer_add(f, answer, number, size);
    return tn_lookup(f->library, answer->name, &address, err);
}

void answer_link(const struct fixture *f, struct answer *answer, unsigned number, size_t size)
{
    struct tn_error err;
    assert_ok(answer_try_link(f, answer, number, size, &err), &err);
    answer_check(f, answer);
}

void answer_remove(struct answer *answer)
{
    struct tn_error err;
    if (!answer->owner)
        return;
    assert_ok(tn_tracker_remove(answer->owner, &err), &err);
    tn_tracker_destroy(answer->owner);
    free(answer->object.at);
    memset(answer, 0, sizeof *answer);
}

struct fixture answer_open(enum tn_strategy strategy)
{
    const struct tn_session_options options = {.size = sizeof options, .strategy = strategy};
    return open_fixture(&options);
}

void *answer_constants(const struct fixture *f, const struct answer *answer)
{
    char name[48];
    snprintf(name, sizeof name, "constants_of_%s", answer->name);
    return lookup(f, name);
}
