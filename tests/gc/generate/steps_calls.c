/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Half floats, atomic modifications whose operation collects, and calls with an array of arguments. */

#include "generate.h"

#define V      "<4 x ptr addrspace(10)>"
#define P      "ptr addrspace(10)"
#define K      "%k$n = extractelement " V " $v, i64 $K\n"
#define L      "%l$n = extractelement " V " $v, i64 $L\n"
#define INSERT "%v$n = insertelement " V " $v, " P " %result$n, i64 $F\n=v %v$n"
#define MIX    "%times$n = mul i64 $x, 3\n%x$n = add i64 %times$n, %number$n\n=x %x$n"
#define MODIFY "call { i64, i64 } (ptr, ptr, i8, i8, ...) @julia.atomicmodify.i64.p0(ptr %m$n, ptr "

static const struct kind rows[] = {
    {"half",
     "_Float16 h$n = (_Float16)(x & 1023), g$n = h$n * (_Float16)3.140625f;\n"
     "_Float16 s$n = g$n + (_Float16)0.5f;\n"
     "x = x * 3 + (s$n > (_Float16)1000.0f ? (long)s$n : 1);",
     "%low$n = and i64 $x, 1023\n"
     "%h$n = uitofp i64 %low$n to half\n"
     "%g$n = fmul half %h$n, 0xH4248\n"
     "%s$n = fadd half %g$n, 0xH3800\n"
     "%c$n = fcmp ogt half %s$n, 0xH63D0\n"
     "%i$n = fptosi half %s$n to i64\n"
     "%number$n = select i1 %c$n, i64 %i$n, i64 1\n" MIX},
    {"atomic operation that collects",
     "long m$n = x, new$n = x + $I;\n"
     "ir_cons($I, v[$K]);\n"
     "v[$F] = ir_cons(new$n, v[$L]);\n"
     "x = x * 3 + m$n;",
     K L "=a %m$n = alloca i64\n"
         "store i64 $x, ptr %m$n\n"
         "%pair$n = " MODIFY "@ir_add, i8 7, i8 1, i64 $I, " P " %k$n)\n"
         "%number$n = extractvalue { i64, i64 } %pair$n, 0\n"
         "%fresh$n = extractvalue { i64, i64 } %pair$n, 1\n"
         "%result$n = call " P " @ir_cons(i64 %fresh$n, " P " %l$n)\n" INSERT "\n" MIX},
    {"atomic operation",
     "long m$n = x;\n"
     "v[$F] = ir_cons(m$n - $I, v[$L]);\n"
     "x = x * 3 + (m$n - $I);",
     L "=a %m$n = alloca i64\n"
       "store i64 $x, ptr %m$n\n"
       "%pair$n = " MODIFY "@ir_minus, i8 6, i8 1, i64 $I)\n"
       "%fresh$n = extractvalue { i64, i64 } %pair$n, 1\n"
       "%result$n = call " P " @ir_cons(i64 %fresh$n, " P " %l$n)\n"
       "%number$n = load i64, ptr %m$n\n" INSERT "\n" MIX},
    {"call with an array", "node k$n = v[$K];\nv[$F] = ir_cons(7, v[$L]);\nir_note(k$n);",
     K L "%result$n = call " P " (ptr, " P ", ...) @julia.call(ptr @ir_apply, " P " %k$n, " P " %k$n, " P " %l$n)\n"
         "call void @ir_note(" P " %k$n)\n" INSERT},
};
const struct kinds call_steps = KINDS(rows);
