/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions of a program that are written in two languages, in IR and in C, with the same random numbers:
 *     node vN(node a, node b, struct nodes tn_ref *memory, long x)        a and b are not null, memory holds four */

#include <stdio.h>

#include "generate.h"

#define V "<4 x ptr addrspace(10)>"
#define P "ptr addrspace(10)"

static void define(void)
{
    static const struct kinds *const tables[] = {&vector_steps};
    if (language == IR)
        printf("define " P " @v%u_%u(" P " %%a, " P " %%b, " P
               " %%memory, i64 %%x) personality ptr @__gcc_personality_v0 {\n",
               function, program);
    else
        printf("node v%u_%u(node a, node b, struct nodes tn_ref *memory, long x)\n{\n", function, program);
    begin_values("%all", "%x", "0");
    draw();
    write_step("node v[] = {a, b, b, a};", "%one = insertelement " V " poison, " P " %a, i64 0\n"
                                           "%two = insertelement " V " %one, " P " %b, i64 1\n"
                                           "%three = insertelement " V " %two, " P " %b, i64 2\n"
                                           "%all = insertelement " V " %three, " P " %a, i64 3");
    for (unsigned i = 4 + pick(6); i; i--)
        write_one_of(tables, sizeof tables / sizeof *tables);
    draw();
    write_step("for (int i = 0; i < 4; i++)\n"
               "    ir_note(v[i]);\n"
               "return v[$K];",
               "%end0 = extractelement " V " $v, i64 0\n"
               "%end1 = extractelement " V " $v, i64 1\n"
               "%end2 = extractelement " V " $v, i64 2\n"
               "%end3 = extractelement " V " $v, i64 3\n"
               "call void @ir_note(" P " %end0)\n"
               "call void @ir_note(" P " %end1)\n"
               "call void @ir_note(" P " %end2)\n"
               "call void @ir_note(" P " %end3)\n"
               "ret " P " %end$K");
    printf("}\n\n");
}

void declare_for_ir(void)
{
    printf("declare " P " @ir_cons(i64, " P ")\n"
           "declare void @ir_note(" P ")\n"
           "declare i64 @ir_throws(" P ", i64)\n"
           "declare i32 @__gcc_personality_v0(...)\n\n");
}

void define_in_ir(void)
{
    for (function = 0; function < IN_IR; function++)
        define();
}
