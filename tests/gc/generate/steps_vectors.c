/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What clang never makes from C: vectors of references and of derived pointers, and landing pads after which the
 * function continues. In IR the function's four references are a vector, in C the array v. */

#include "generate.h"

#define V     "<4 x ptr addrspace(10)>"
#define D     "<4 x ptr addrspace(11)>"
#define P     "ptr addrspace(10)"
#define ORDER "<4 x i32> <i32 $E, i32 $F, i32 $G, i32 $H>"

static const struct kind rows[] = {
    {"insert", "v[$K] = b;",
     "%v$n = insertelement " V " $v, " P " %b, i64 $K\n"
     "=v %v$n"},
    {"insert a new one", "v[$K] = ir_cons(x, v[$L]);",
     "%old$n = extractelement " V " $v, i64 $L\n"
     "%new$n = call " P " @ir_cons(i64 $x, " P " %old$n)\n"
     "%v$n = insertelement " V " $v, " P " %new$n, i64 $K\n"
     "=v %v$n"},
    {"shuffle", "shuffle(v, $E, $F, $G, $H);",
     "%v$n = shufflevector " V " $v, " V " poison, " ORDER "\n"
     "=v %v$n"},
    {"select vectors",
     "if (x & $N)\n"
     "    shuffle(v, $E, $F, $G, $H);",
     "%other$n = shufflevector " V " $v, " V " poison, " ORDER "\n"
     "%bit$n = and i64 $x, $N\n"
     "%is$n = icmp ne i64 %bit$n, 0\n"
     "%v$n = select i1 %is$n, " V " %other$n, " V " $v\n"
     "=v %v$n"},
    {"select lanes",
     "{\n"
     "    node w[] = {v[$E], v[$F], v[$G], v[$H]};\n"
     "    for (int i = 0; i < 4; i++)\n"
     "        v[i] = x >> i & 1 ? w[i] : v[i];\n"
     "}",
     "%other$n = shufflevector " V " $v, " V " poison, " ORDER "\n"
     "%low$n = trunc i64 $x to i4\n"
     "%mask$n = bitcast i4 %low$n to <4 x i1>\n"
     "%v$n = select <4 x i1> %mask$n, " V " %other$n, " V " $v\n"
     "=v %v$n"},
    /* Stores the vector and loads it after a safepoint. */
    {"through memory",
     "for (int i = 0; i < 4; i++)\n"
     "    memory->items[i] = v[i];\n"
     "memory->items[$K] = ir_cons(x, v[0]);\n"
     "for (int i = 0; i < 4; i++)\n"
     "    v[i] = memory->items[i];",
     "%at$n = addrspacecast " P " %memory to ptr addrspace(11)\n"
     "%all$n = getelementptr i8, ptr addrspace(11) %at$n, i64 8\n"
     "store " V " $v, ptr addrspace(11) %all$n, align 8\n"
     "%lane$n = getelementptr [4 x " P "], ptr addrspace(11) %all$n, i64 0, i64 $K\n"
     "%old$n = extractelement " V " $v, i64 0\n"
     "%new$n = call " P " @ir_cons(i64 $x, " P " %old$n)\n"
     "store " P " %new$n, ptr addrspace(11) %lane$n\n"
     "%v$n = load " V ", ptr addrspace(11) %all$n, align 8\n"
     "=v %v$n"},
    /* A vector of derived pointers that is live across a safepoint. */
    {"derive",
     "ir_cons(x, v[$K]);\n"
     "x = x * 3 + v[$L]->value;",
     "%to$n = addrspacecast " V " $v to " D "\n"
     "%values$n = getelementptr i8, " D " %to$n, i64 16\n"
     "%old$n = extractelement " V " $v, i64 $K\n"
     "call " P " @ir_cons(i64 $x, " P " %old$n)\n"
     "%at$n = extractelement " D " %values$n, i64 $L\n"
     "%value$n = load i64, ptr addrspace(11) %at$n\n"
     "%times$n = mul i64 $x, 3\n"
     "%x$n = add i64 %times$n, %value$n\n"
     "=x %x$n"},
    {"derive any",
     "ir_cons(x, v[$K]);\n"
     "x = x * 3 + v[x & 3]->value;",
     "%to$n = addrspacecast " V " $v to " D "\n"
     "%values$n = getelementptr i8, " D " %to$n, i64 16\n"
     "%old$n = extractelement " V " $v, i64 $K\n"
     "call " P " @ir_cons(i64 $x, " P " %old$n)\n"
     "%which$n = and i64 $x, 3\n"
     "%at$n = extractelement " D " %values$n, i64 %which$n\n"
     "%value$n = load i64, ptr addrspace(11) %at$n\n"
     "%times$n = mul i64 $x, 3\n"
     "%x$n = add i64 %times$n, %value$n\n"
     "=x %x$n"},
    {"loop",
     "for (long i = 0; i < $N; i++) {\n"
     "    node made = ir_cons(i, v[$K]);\n"
     "    shuffle(v, $E, $F, $G, $H);\n"
     "    v[$L] = made;\n"
     "}",
     "br label %loop$n\n"
     "loop$n:\n"
     "%i$n = phi i64 [0, %$b], [%next$n, %loop$n]\n"
     "%all$n = phi " V " [$v, %$b], [%v$n, %loop$n]\n"
     "%old$n = extractelement " V " %all$n, i64 $K\n"
     "%made$n = call " P " @ir_cons(i64 %i$n, " P " %old$n)\n"
     "%other$n = shufflevector " V " %all$n, " V " poison, " ORDER "\n"
     "%v$n = insertelement " V " %other$n, " P " %made$n, i64 $L\n"
     "%next$n = add i64 %i$n, 1\n"
     "%again$n = icmp ult i64 %next$n, $N\n"
     "br i1 %again$n, label %loop$n, label %done$n\n"
     "done$n:\n"
     "=v %v$n"},
    /* A call that may continue at the landing pad, from where the function continues with another vector. */
    {"landing pad",
     "if (ir_throws(v[$K], x))\n"
     "    shuffle(v, $E, $F, $G, $H);",
     "%thrown$n = extractelement " V " $v, i64 $K\n"
     "invoke i64 @ir_throws(" P " %thrown$n, i64 $x) to label %good$n unwind label %pad$n\n"
     "good$n:\n"
     "br label %join$n\n"
     "pad$n:\n"
     "landingpad { ptr, i32 } cleanup\n"
     "%other$n = shufflevector " V " $v, " V " poison, " ORDER "\n"
     "br label %join$n\n"
     "join$n:\n"
     "%v$n = phi " V " [$v, %good$n], [%other$n, %pad$n]\n"
     "=v %v$n"},
};
const struct kinds vector_steps = KINDS(rows);
