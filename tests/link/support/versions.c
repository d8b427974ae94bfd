/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "versions.h"

#include "elf_builder.h"

#include "functions.h"

_Atomic int finalized;

void add_version(struct tn_library *library, int version, struct tn_tracker *owner)
{
    struct tn_error err;
    struct tn_input input = input_of("version.o", weak_function_object("version", version));
    input.owner = owner;
    assert_ok(tn_add_object(library, &input, &err), &err);
}

int call_at(const void *address)
{
    int (*function)(void);
    memcpy(&function, &address, sizeof function);
    return function();
}

static void note_finalizer(void)
{
    finalized++;
}

void add_finalizer_function(const struct fixture *f, struct tn_tracker *owner, void (*function)(void))
{
    static struct elf elf;
    static const uint64_t words[1];
    memset(&elf, 0, sizeof elf);
    unsigned array = elf_section(&elf, ".fini_array", SHT_FINI_ARRAY, SHF_ALLOC | SHF_WRITE, words, sizeof words);
    elf_reloc(&elf, array, 0, elf_undefined(&elf, "at_the_end"), MACHINE_ADDRESS, 0);
    struct tn_input input = input_of("finalizer.o", elf_finish(&elf));
    struct tn_error err;
    input.owner = owner;
    define(f, "at_the_end", (void *)(uintptr_t)function);
    assert_ok(tn_add_object(f->library, &input, &err), &err);
}

void add_finalizer(const struct fixture *f, struct tn_tracker *owner)
{
    add_finalizer_function(f, owner, note_finalizer);
}
