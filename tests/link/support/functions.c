/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdlib.h>

#include "elf_builder.h"
#include "functions.h"

/* An array with a reference to each name, up to NULL. */
static void add_calls(struct elf *elf, const char *section, uint32_t type, const char *const *names)
{
    static const uint64_t zeros[4];
    size_t count = 0;
    while (names && names[count])
        count++;
    assert_true(count <= COUNT(zeros));
    unsigned array = count ? elf_section(elf, section, type, SHF_ALLOC | SHF_WRITE, zeros, count * 8) : 0;
    for (size_t i = 0; i < count; i++)
        elf_reloc(elf, array, i * 8, elf_undefined(elf, names[i]), MACHINE_ADDRESS, 0);
}

static struct bytes make(const char *name, unsigned bind, int value, const char *callee,
                         const char *const *initializers, const char *const *finalizers)
{
    uint8_t code[FUNCTION_SIZE];
    put_function(code, (uint32_t)value, callee != NULL);
    struct elf *elf = calloc(1, sizeof *elf);
    assert_non_null(elf);
    unsigned section = elf_code(elf, code, sizeof code);
    elf_symbol(elf, name, bind, STT_FUNC, section, 0, sizeof code);
    if (callee)
        elf_reloc(elf, section, machine_call.offset, elf_undefined(elf, callee), machine_call.type,
                  machine_call.addend);
    add_calls(elf, ".init_array", SHT_INIT_ARRAY, initializers);
    add_calls(elf, ".fini_array", SHT_FINI_ARRAY, finalizers);
    struct bytes bytes = elf_finish(elf);
    free(elf);
    return bytes;
}

struct bytes function_object(const char *name, int value, const char *callee)
{
    return make(name, STB_GLOBAL, value, callee, NULL, NULL);
}

struct bytes weak_function_object(const char *name, int value)
{
    return make(name, STB_WEAK, value, NULL, NULL, NULL);
}

struct bytes initialized_function_object(const char *name, int value, const char *callee,
                                         const char *const *initializers, const char *const *finalizers)
{
    return make(name, STB_GLOBAL, value, callee, initializers, finalizers);
}

static void release(void *unused, const void *bytes, size_t length)
{
    (void)unused, (void)length;
    free((void *)(uintptr_t)bytes);
}

struct tn_input input_of(const char *name, struct bytes bytes)
{
    return (struct tn_input){
        .size = sizeof(struct tn_input), .name = name, .bytes = bytes.at, .length = bytes.size, .release = release};
}

void add_function(struct tn_library *library, const char *name, int value, const char *callee, struct tn_tracker *owner)
{
    struct tn_error err;
    struct tn_input input = input_of(name, function_object(name, value, callee));
    input.owner = owner;
    assert_ok(tn_add_object(library, &input, &err), &err);
}

int call_in(struct tn_library *library, const char *name)
{
    struct tn_error err;
    void *address = NULL;
    assert_ok(tn_lookup(library, name, &address, &err), &err);
    int (*function)(void);
    memcpy(&function, &address, sizeof function);
    return function();
}
