/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdlib.h>

#include "elf_builder.h"
#include "functions.h"

static struct bytes make(const char *name, unsigned bind, int value, const char *callee)
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
    struct bytes bytes = elf_finish(elf);
    free(elf);
    return bytes;
}

struct bytes function_object(const char *name, int value, const char *callee)
{
    return make(name, STB_GLOBAL, value, callee);
}

struct bytes weak_function_object(const char *name, int value)
{
    return make(name, STB_WEAK, value, NULL);
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
