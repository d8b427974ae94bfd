/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon build --report: report.c divides the file that was built into leaves, report_elf.c and report_heap.c the ELF
 * files and the saved objects in it; report_page.c writes the page. */

#ifndef TENON_TOOL_REPORT_H
#define TENON_TOOL_REPORT_H

#include "base/base.h"
#include "lib/tool.h"

/* Bytes of the file that are alike in all of these texts, which are "" where they do not apply. */
struct leaf {
    const char *package; /* an image, an input that was linked with it, "runtime", or "the file" */
    const char *kind, *section;
    const char *symbol; /* of a function or variable, without the suffix of a version */
    const char *target; /* of a version of a function */
    const char *type;   /* of saved objects */
    bool is_function;
    uint64_t offset, size, parts; /* where the first part begins; bytes of all parts; how many there are */
};

struct report {
    const struct job *job;
    const char *name; /* of the file */
    const uint8_t *bytes;
    uint64_t size, runtime_end;  /* of the stub, which an executable begins with; 0: there is none */
    struct tn__image_view *view; /* of the images in the file */
    size_t view_count, view_capacity;
    struct leaf *leaves;
    size_t count, capacity;
    void *symbols; /* of inputs: a tree of struct owned */
    struct tn__arena arena;
};

/* ---- report.c ---- */

/* Adds a part of the file; an empty one is ignored. Texts are borrowed until the report ends. False: memory is out. */
bool report_add(struct report *report, const struct leaf *leaf);

/* The image whose name ends the name of a version of a function, as in f.IMAGE.N. NULL: there is none. */
const struct tn__image_view *report_image_of(const struct report *report, const char *symbol, size_t *stem,
                                             unsigned *target);
/* The input that defines a symbol; NULL: none does. */
const char *report_input_of(const struct report *report, const char *symbol);

/* ---- report_elf.c ---- */

/* Divides `size` bytes at `offset`, which are an ELF file. False: memory is out. */
bool report_elf(struct report *report, uint64_t offset, uint64_t size);
/* Calls `visit` for each symbol that an ELF file of these bytes defines, until it returns false. */
bool report_each_symbol(const void *bytes, size_t size, bool (*visit)(void *context, const char *name), void *context);

/* ---- report_heap.c ---- */

/* Divides the zones of saved objects, by type. `zones` are the bytes of the sections of these kinds in the file; NULL:
 * it has none. The same. */
struct report_zone {
    uint64_t offset, size;
    const char *section;
};
bool report_heap(struct report *report, const struct tn__image_view *view, const struct report_zone *zones);

/* ---- report_page.c ---- */

/* False: memory is out. */
bool report_write(const struct report *report, FILE *out);

#endif
