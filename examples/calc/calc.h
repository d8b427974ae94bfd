/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The language: one line is a function, `area(r) = 3.14159 * r * r`, or an expression to compute. Everything is a
 * double. Operators: ? :   < > ==   + -   * /   unary -   and calls. */

#include <stdbool.h>
#include <stdio.h>

/* What a line may call: host functions, then what earlier lines defined. */
struct function {
    char name[32];
    int arity;
};

extern struct function functions[256];
extern int function_count;
enum { FIRST_DEFINED = 6 }; /* before: host functions */

/* NULL: there is none. */
const struct function *find_function(const char *name);

/* The function without arguments that an expression becomes. */
#define EXPRESSION "line."

/* Writes the IR of one line as a module. *function gets what it defines. Returns NULL, or what is wrong. */
const char *compile_line(const char *line, FILE *ir, struct function *function);
