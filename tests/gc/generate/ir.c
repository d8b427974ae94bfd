/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions of a program that are written in two languages, in IR and in C, with the same random numbers:
 *     node vN(node a, node b, struct nodes tn_ref *memory, long x)        a and b are not null, memory holds four */

#include <stdio.h>

#include "generate.h"

#define V "<4 x ptr addrspace(10)>"
#define P "ptr addrspace(10)"

static void define(void)
{
    static const struct kinds *const tables[] = {&vector_steps, &stack_steps, &value_steps, &call_steps, &loop_steps};
    if (language == IR)
        printf("define " P " @v%u_%u(" P " %%a, " P " %%b, " P
               " %%memory, i64 %%x) personality ptr @__gcc_personality_v0 {\n",
               function, program);
    else
        printf("node v%u_%u(node a, node b, struct nodes tn_ref *memory, long x)\n{\n", function, program);
    begin_body("%all", "%x");
    draw();
    write_step("node v[] = {a, b, b, a}, s$n[] = {a, b, b, a};\n"
               "=s",
               "%one = insertelement " V " poison, " P " %a, i64 0\n"
               "%two = insertelement " V " %one, " P " %b, i64 1\n"
               "%three = insertelement " V " %two, " P " %b, i64 2\n"
               "%all = insertelement " V " %three, " P " %a, i64 3\n"
               "%s$n = alloca $t\n"
               "store " V " %all, ptr %s$n, align 8\n"
               "=s");
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
    end_body();
    printf("}\n\n");
}

static const char declarations[] =
    "%mixed = type { " P ", i64, [2 x " P "] }\n"
    "%couple = type { " P ", " P " }\n"
    "%four = type { " P ", " P ", " P ", " P " }\n"
    "declare void @ir_note(" P ")\n"
    "declare i64 @ir_throws(" P ", i64)\n"
    "declare void @ir_four(ptr sret([4 x " P "]), " P ", " P ", i64)\n"
    "declare i64 @ir_sum(" P ")\n"
    "declare void @ir_fill(ptr, " P ", i64)\n"
    "declare i64 @ir_look(ptr, i64)\n"
    "declare i64 @ir_read(ptr addrspace(13), i64)\n"
    "declare " P " @ir_buffer(i64)\n"
    "declare " P " @ir_holder(" P ", " P ")\n"
    "declare i32 @__gcc_personality_v0(...)\n"
    "declare double @llvm.fmuladd.f64(double, double, double)\n"
    "!99 = distinct !{!99, !\"tenon.simdloop\"}\n"
    "declare ptr @julia.pointer_from_objref(" P ")\n"
    "declare ptr addrspace(13) @julia.gc_loaded(" P ", ptr)\n"
    "declare token @llvm.julia.gc_preserve_begin(...)\n"
    "declare void @llvm.julia.gc_preserve_end(token)\n"
    "declare { i64, i64 } @julia.atomicmodify.i64.p0(ptr, ptr, i8, i8, ...)\n"
    "declare " P " @julia.call(ptr, " P ", ...)\n"
    "\n"
    "@stack = internal global " P " null\n"
    "define void @stack_push(" P " %n) {\n"
    "  br label %again\n"
    "again:\n"
    "  %head = load atomic " P ", ptr @stack acquire, align 8\n"
    "  store " P " %head, " P " %n\n"
    "  %both = cmpxchg ptr @stack, " P " %head, " P " %n acq_rel acquire\n"
    "  %done = extractvalue { " P ", i1 } %both, 1\n"
    "  br i1 %done, label %end, label %again\n"
    "end:\n"
    "  ret void\n"
    "}\n"
    "define " P " @stack_pop() {\n"
    "  br label %again\n"
    "again:\n"
    "  %head = load atomic " P ", ptr @stack acquire, align 8\n"
    "  %none = icmp eq " P " %head, null\n"
    "  br i1 %none, label %end, label %some\n"
    "some:\n"
    "  %next = load " P ", " P " %head\n"
    "  %both = cmpxchg ptr @stack, " P " %head, " P " %next acq_rel acquire\n"
    "  %done = extractvalue { " P ", i1 } %both, 1\n"
    "  br i1 %done, label %end, label %again\n"
    "end:\n"
    "  ret " P " %head\n"
    "}\n"
    "define internal i64 @ir_add(i64 %old, i64 %x, " P " %list) {\n"
    "  %1 = call " P " @ir_cons(i64 %x, " P " %list)\n"
    "  %2 = add i64 %old, %x\n"
    "  ret i64 %2\n"
    "}\n"
    "define internal i64 @ir_minus(i64 %old, i64 %x) {\n"
    "  %1 = sub i64 %old, %x\n"
    "  ret i64 %1\n"
    "}\n"
    "define internal " P " @ir_apply(" P " %f, ptr %args, i32 %n) {\n"
    "  %1 = getelementptr " P ", ptr %args, i64 1\n"
    "  %2 = load " P ", ptr %1\n"
    "  %3 = call " P " @ir_cons(i64 7, " P " %2)\n"
    "  ret " P " %3\n"
    "}\n"
    "define internal i64 @ir_takes(ptr byval([4 x " P "]) align 8 %four, " P " %list) noinline {\n"
    "  %first = call " P " @ir_cons(i64 1, " P " %list)\n"
    "  %to1 = getelementptr " P ", ptr %four, i64 1\n"
    "  %to2 = getelementptr " P ", ptr %four, i64 2\n"
    "  %to3 = getelementptr " P ", ptr %four, i64 3\n"
    "  %three = load " P ", ptr %to3\n"
    "  %new = call " P " @ir_cons(i64 2, " P " %three)\n"
    "  store " P " %new, ptr %to1\n"
    "  %zero = load " P ", ptr %four\n"
    "  %sum0 = call i64 @ir_sum(" P " %zero)\n"
    "  %one = load " P ", ptr %to1\n"
    "  %sum1 = call i64 @ir_sum(" P " %one)\n"
    "  %two = load " P ", ptr %to2\n"
    "  %sum2 = call i64 @ir_sum(" P " %two)\n"
    "  %sum3 = call i64 @ir_sum(" P " %first)\n"
    "  %1 = add i64 %sum0, %sum1\n"
    "  %2 = add i64 %sum2, %sum3\n"
    "  %3 = add i64 %1, %2\n"
    "  ret i64 %3\n"
    "}\n"
    "define internal %couple @ir_couple(" P " %a, " P " %b, i64 %x) noinline {\n"
    "  %1 = call " P " @ir_cons(i64 %x, " P " %a)\n"
    "  %2 = insertvalue %couple poison, " P " %1, 0\n"
    "  %3 = insertvalue %couple %2, " P " %b, 1\n"
    "  ret %couple %3\n"
    "}\n"
    "define internal %four @ir_wide(" P " %a, " P " %b, i64 %x) noinline {\n"
    "  %1 = insertvalue %four poison, " P " %b, 0\n"
    "  %2 = call " P " @ir_cons(i64 %x, " P " %a)\n"
    "  %3 = insertvalue %four %1, " P " %2, 1\n"
    "  %4 = insertvalue %four %3, " P " %a, 2\n"
    "  %5 = insertvalue %four %4, " P " %b, 3\n"
    "  ret %four %5\n"
    "}\n"
    "define internal " V " @ir_turn(" V " %v, i64 %x) noinline {\n"
    "  %1 = extractelement " V " %v, i64 1\n"
    "  %2 = call " P " @ir_cons(i64 %x, " P " %1)\n"
    "  %3 = shufflevector " V " %v, " V " poison, <4 x i32> <i32 1, i32 2, i32 3, i32 0>\n"
    "  %4 = insertelement " V " %3, " P " %2, i64 0\n"
    "  ret " V " %4\n"
    "}\n"
    "define internal %mixed @ir_passed(%mixed %m) noinline {\n"
    "  %1 = extractvalue %mixed %m, 1\n"
    "  %2 = extractvalue %mixed %m, 2, 0\n"
    "  %3 = call " P " @ir_cons(i64 %1, " P " %2)\n"
    "  %4 = insertvalue %mixed %m, " P " %3, 0\n"
    "  ret %mixed %4\n"
    "}\n"
    "define internal { " P ", ptr addrspace(11) } @ir_inside(" P " %a, i64 %x) noinline {\n"
    "  %1 = call " P " @ir_cons(i64 %x, " P " %a)\n"
    "  %2 = addrspacecast " P " %1 to ptr addrspace(11)\n"
    "  %3 = getelementptr i64, ptr addrspace(11) %2, i64 2\n"
    "  %4 = insertvalue { " P ", ptr addrspace(11) } poison, " P " %1, 0\n"
    "  %5 = insertvalue { " P ", ptr addrspace(11) } %4, ptr addrspace(11) %3, 1\n"
    "  ret { " P ", ptr addrspace(11) } %5\n"
    "}\n\n";

/* What both modules define. */
static const char once[] = "declare " P " @ir_cons(i64, " P ")\n"
                           "define linkonce_odr " P " @ir_once(" P " %list, i64 %x) {\n"
                           "  %1 = call " P " @ir_cons(i64 %x, " P " %list)\n"
                           "  %2 = add i64 %x, 7\n"
                           "  %3 = call " P " @ir_cons(i64 %2, " P " %1)\n"
                           "  ret " P " %3\n"
                           "}\n\n";

void declare_for_ir(int in_other_module)
{
    fputs(once, stdout);
    if (!in_other_module)
        fputs(declarations, stdout);
}

void define_in_ir(void)
{
    for (function = 0; function < IN_IR; function++)
        define();
}
