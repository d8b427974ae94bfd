/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon disasm: what its files share. */

#ifndef TENON_TOOL_DISASM_H
#define TENON_TOOL_DISASM_H

#include "codegen/debug/disasm.h"
#include "link/observe/lines.h"
#include "lib/tool.h"

enum { TEXT_SIZE = 1024 };

/* Names of addresses, sorted by address. */
struct labels {
    struct label {
        const char *name;
        uint64_t address, size; /* size 0: unknown */
        bool function;
    } * items;
    size_t count, capacity;
};

/* Whatever is disassembled: where it is, what is known about it. */
struct stretch {
    const uint8_t *bytes;
    uint64_t address, size;
    const struct tn__lines *lines;
    uint64_t lines_at;                                     /* to be added to addresses for them */
    void (*print_labels)(void *context, uint64_t address); /* NULL: none; so with the next two */
    void (*print_relocs)(void *context, uint64_t address, uint64_t end);
    const char *(*remark)(void *context); /* on the instruction that was just decoded, or NULL */
    void *context;
};

void tool_disassemble(struct tn__disasm *disasm, const struct stretch *stretch);

bool tool_add_label(struct labels *labels, const char *name, uint64_t address, uint64_t size, bool function);
void tool_sort_labels(struct labels *labels);
/* The last one at or before `address` that reaches that far, or NULL. */
const struct label *tool_find_label(const struct labels *labels, uint64_t address);
/* "name" or "name+0x12", in `text` of TEXT_SIZE bytes. */
const char *tool_describe(char *text, const char *name, uint64_t offset);

/* Shows an object as it is in its file (disasm_object.c). False: reported. */
bool tool_show_object(const char *name, const void *bytes, size_t size, const struct settings *settings);
/* Shows a file that is linked already, or those of its functions that `settings` names (disasm_program.c). False:
 * reported. */
bool tool_show_program(const struct file *file, const struct settings *settings);
/* Links the files of `settings` and shows functions of it: those that are named there, or, if none is, all
 * (disasm_linked.c). Returns the command's status. */
int tool_show_linked(const struct settings *settings);

/* What a name on the command line is: a file, or a symbol. */
bool tool_is_file(const char *name);

#endif
