/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Shared by the files of the generator. */

#ifndef TESTS_GC_GENERATE_H
#define TESTS_GC_GENERATE_H

#include <stdint.h>

enum {
    FUNCTIONS = 6,
    REFERENCES = 5,
    NUMBERS = 3
};                               /* in C: functions of a program, local variables r0 ..., x0 ... of each */
enum { UNWOUND = 2, IN_IR = 3 }; /* functions that may end with exceptions; functions in IR */
enum { WEAK = 2, OTHERS = 2 };   /* functions that both modules define; that only the other one defines */

/* ---- kinds of statements, which are rows of tables ---- */

/* A statement of functions in C has one text. A step of functions in IR has the same computation in both
 * languages. The texts are templates, see template.c. */
struct kind {
    const char *name, *c, *ir;
    void (*write)(void); /* instead of texts */
};

struct kinds {
    const struct kind *rows;
    unsigned count;
};
#define KINDS(rows)                                                                                                    \
    {                                                                                                                  \
        rows, sizeof(rows) / sizeof *(rows)                                                                            \
    }

extern const struct kinds ordinary_statements, memory_statements, thread_statements, loop_statements, leaf_statements;
extern const struct kinds call_steps, vector_steps, stack_steps, value_steps, loop_steps;

/* The only kind that is wanted, for looking into one of them; NULL: all. */
extern const char *wanted;

/* Writes one of the kinds of these tables; of the wanted one if they have it. */
void write_one_of(const struct kinds *const *tables, unsigned count);

/* ---- templates ---- */

enum language { C, IR };
extern enum language language; /* what is written now: steps have texts in both */
extern unsigned program;       /* its number, which is part of all its functions' names */
extern unsigned outer;         /* how many of the WEAK + OTHERS functions may be called */
extern unsigned function;      /* number of the function that is being written: it calls those before it */
extern int indent;             /* of C */

void seed_with(uint64_t seed);
unsigned pick(unsigned count);

/* Draws new random values for the letters of templates. */
void draw(void);
void write_text(const char *template);
/* In the language that is being written. */
void write_step(const char *c, const char *ir);

/* ---- functions in IR ---- */

/* The body of a function: its first vector and number. */
void begin_body(const char *vector, const char *number);
void end_body(void);
void declare_for_ir(int in_other_module);
void define_in_ir(void);

#endif
