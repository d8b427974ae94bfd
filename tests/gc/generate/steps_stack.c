/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* References in stack memory whose type may say nothing of references. A slot is four words; in C it is the array
 * s$n. */

#include "generate.h"

#define V      "<4 x ptr addrspace(10)>"
#define P      "ptr addrspace(10)"
#define D      "ptr addrspace(11)"
#define ORDER  "<4 x i32> <i32 $E, i32 $F, i32 $G, i32 $H>"
#define WORD   "getelementptr i64, ptr "
#define ITEMS  "%object$n = addrspacecast " P " %memory to " D "\n%items$n = getelementptr i8, " D " %object$n, i64 8\n"
#define PLACE  "%place$n = and i64 $x, 3\n"
#define ODD    "%bit$n = and i64 $x, $N\n%odd$n = icmp ne i64 %bit$n, 0\n"
#define INSERT "%v$n = insertelement " V " $v, " P " %loaded$n, i64 $K\n=v %v$n"
#define CONS   "%old$n = extractelement " V " $v, i64 $L\n%new$n = call " P " @ir_cons(i64 $x, " P " %old$n)\n"

static const struct kind rows[] = {
    {"slot from a vector",
     "node s$n[4] = {v[$E], v[$F], v[$G], v[$H]};\n"
     "=s",
     "=a %s$n = alloca $t\n"
     "%all$n = shufflevector " V " $v, " V " poison, " ORDER "\n"
     "store " V " %all$n, ptr %s$n, align 8\n"
     "=s"},
    {"slot from an array",
     "node s$n[4] = {v[$E], v[$F], v[$F], v[$E]};\n"
     "=s",
     "=a %s$n = alloca $t\n"
     "%e$n = extractelement " V " $v, i64 $E\n"
     "%f$n = extractelement " V " $v, i64 $F\n"
     "%one$n = insertvalue [4 x " P "] poison, " P " %e$n, 0\n"
     "%two$n = insertvalue [4 x " P "] %one$n, " P " %f$n, 1\n"
     "%three$n = insertvalue [4 x " P "] %two$n, " P " %f$n, 2\n"
     "%all$n = insertvalue [4 x " P "] %three$n, " P " %e$n, 3\n"
     "store [4 x " P "] %all$n, ptr %s$n, align 8\n"
     "=s"},
    {"slot from an object",
     "node s$n[4];\n"
     "memcpy(s$n, memory->items, 32);\n"
     "=s",
     "=a %s$n = alloca [4 x " P "]\n" ITEMS "call void @llvm.memcpy.p0.p11.i64(ptr align 8 %s$n, " D
     " align 8 %items$n, i64 32, i1 0)\n"
     "=s"},
    {"slot from a slot",
     "node s$n[4];\n"
     "memcpy(s$n, s$S, 32);\n"
     "=s",
     "=a %s$n = alloca $t\n"
     "call void @llvm.memcpy.p0.p0.i64(ptr align 8 %s$n, ptr align 8 %s$S, i64 32, i1 0)\n"
     "=s"},
    {"slot from a call",
     "node s$n[4];\n"
     "*(struct four *)s$n = ir_four(v[$K], v[$L], x);\n"
     "=s",
     "=a %s$n = alloca $t\n"
     "%k$n = extractelement " V " $v, i64 $K\n"
     "%l$n = extractelement " V " $v, i64 $L\n"
     "call void @ir_four(ptr sret([4 x " P "]) %s$n, " P " %k$n, " P " %l$n, i64 $x)\n"
     "=s"},
    {"store a slot", "s$S[$K] = v[$L];",
     "%stored$n = extractelement " V " $v, i64 $L\n"
     "%at$n = " WORD "%s$S, i64 $K\n"
     "store " P " %stored$n, ptr %at$n"},
    {"store a new one", "s$S[$K] = ir_cons(x, v[$L]);",
     "%at$n = " WORD "%s$S, i64 $K\n" CONS "store " P " %new$n, ptr %at$n"},
    {"store somewhere", "s$S[x & 3] = ir_cons(x, v[$L]);",
     PLACE "%at$n = " WORD "%s$S, i64 %place$n\n" CONS "store " P " %new$n, ptr %at$n"},
    {"load a slot", "v[$K] = s$S[$L];",
     "%at$n = " WORD "%s$S, i64 $L\n"
     "%loaded$n = load " P ", ptr %at$n\n" INSERT},
    {"load from somewhere", "v[$K] = s$S[x & 3];",
     PLACE "%at$n = " WORD "%s$S, i64 %place$n\n"
           "%loaded$n = load " P ", ptr %at$n\n" INSERT},
    {"load all", "memcpy(v, s$S, sizeof v);",
     "%v$n = load " V ", ptr %s$S, align 8\n"
     "=v %v$n"},
    {"load after a safepoint",
     "ir_cons(x, v[$L]);\n"
     "v[$K] = s$S[$M];",
     "%at$n = " WORD "%s$S, i64 $M\n" CONS "%loaded$n = load " P ", ptr %at$n\n" INSERT},
    {"copy a slot", "memmove(s$S, s$T, 32);",
     "call void @llvm.memmove.p0.p0.i64(ptr align 8 %s$S, ptr align 8 %s$T, i64 32, i1 0)"},
    {"copy two words", "memmove(s$S + ($K & 2), s$T + ($L & 2), 16);",
     "%kk$n = and i64 $K, 2\n"
     "%ll$n = and i64 $L, 2\n"
     "%to$n = " WORD "%s$S, i64 %kk$n\n"
     "%from$n = " WORD "%s$T, i64 %ll$n\n"
     "call void @llvm.memmove.p0.p0.i64(ptr align 8 %to$n, ptr align 8 %from$n, i64 16, i1 0)"},
    {"copy to an object",
     "memcpy(memory->items, s$S, 32);\n"
     "v[$K] = memory->items[$L];",
     ITEMS "call void @llvm.memcpy.p11.p0.i64(" D " align 8 %items$n, ptr align 8 %s$S, i64 32, i1 0)\n"
           "%at$n = getelementptr i64, " D " %items$n, i64 $L\n"
           "%loaded$n = load " P ", " D " %at$n\n" INSERT},
    {"copy from an object", "memcpy(s$S, memory->items, 32);",
     ITEMS "call void @llvm.memcpy.p0.p11.i64(ptr align 8 %s$S, " D " align 8 %items$n, i64 32, i1 0)"},
    {"returned into a slot", "*(struct four *)s$S = ir_four(v[$K], s$S[$L], x);",
     "%k$n = extractelement " V " $v, i64 $K\n"
     "%at$n = " WORD "%s$S, i64 $L\n"
     "%l$n = load " P ", ptr %at$n\n"
     "call void @ir_four(ptr sret([4 x " P "]) %s$S, " P " %k$n, " P " %l$n, i64 $x)"},
    {"slot by value", "x = x * 3 + ir_takes(*(struct four *)s$S, v[$K]);",
     "%k$n = extractelement " V " $v, i64 $K\n"
     "%sum$n = call i64 @ir_takes(ptr byval([4 x " P "]) align 8 %s$S, " P " %k$n)\n"
     "%times$n = mul i64 $x, 3\n"
     "%x$n = add i64 %times$n, %sum$n\n"
     "=x %x$n"},
    {"filled slot", "ir_fill(s$S, v[$K], x);",
     "%k$n = extractelement " V " $v, i64 $K\n"
     "call void @ir_fill(ptr %s$S, " P " %k$n, i64 $x)"},
    {"one of two slots",
     "node *p$n = x & $N ? s$S : s$T;\n"
     "p$n[$M] = ir_cons(x, v[$L]);\n"
     "v[$K] = p$n[$E];",
     ODD "%p$n = select i1 %odd$n, ptr %s$S, ptr %s$T\n" CONS "%at$n = " WORD "%p$n, i64 $M\n"
         "store " P " %new$n, ptr %at$n\n"
         "%from$n = " WORD "%p$n, i64 $E\n"
         "%loaded$n = load " P ", ptr %from$n\n" INSERT},
    {"slot of one of two blocks",
     "node *p$n = x & $N ? s$S + $M : s$T + $E;\n"
     "*p$n = ir_cons(x, v[$L]);\n"
     "ir_cons(x, v[$K]);\n"
     "v[$K] = *p$n;",
     ODD "br i1 %odd$n, label %one$n, label %two$n\n"
         "one$n:\n"
         "%s1$n = " WORD "%s$S, i64 $M\n"
         "br label %join$n\n"
         "two$n:\n"
         "%s2$n = " WORD "%s$T, i64 $E\n"
         "br label %join$n\n"
         "join$n:\n"
         "%p$n = phi ptr [%s1$n, %one$n], [%s2$n, %two$n]\n" CONS "store " P " %new$n, ptr %p$n\n"
         "%k$n = extractelement " V " $v, i64 $K\n"
         "call " P " @ir_cons(i64 $x, " P " %k$n)\n"
         "%loaded$n = load " P ", ptr %p$n\n" INSERT},
    {"two slots in turn",
     "{\n"
     "    node *p = s$S, *q = s$T, *t;\n"
     "    for (long i = 0; i < $N; i++, t = p, p = q, q = t)\n"
     "        p[$K] = ir_cons(i, q[$L]);\n"
     "}",
     "br label %loop$n\n"
     "loop$n:\n"
     "%i$n = phi i64 [0, %$b], [%next$n, %loop$n]\n"
     "%p$n = phi ptr [%s$S, %$b], [%q$n, %loop$n]\n"
     "%q$n = phi ptr [%s$T, %$b], [%p$n, %loop$n]\n"
     "%from$n = " WORD "%q$n, i64 $L\n"
     "%to$n = " WORD "%p$n, i64 $K\n"
     "%old$n = load " P ", ptr %from$n\n"
     "%new$n = call " P " @ir_cons(i64 %i$n, " P " %old$n)\n"
     "store " P " %new$n, ptr %to$n\n"
     "%next$n = add i64 %i$n, 1\n"
     "%again$n = icmp ult i64 %next$n, $N\n"
     "br i1 %again$n, label %loop$n, label %done$n\n"
     "done$n:"},
    {"address of a slot in memory",
     "node *p$n = s$S;\n"
     "p$n[$K] = ir_cons(x, p$n[$L]);",
     "=a %p$n = alloca ptr\n"
     "store ptr %s$S, ptr %p$n\n"
     "%q$n = load ptr, ptr %p$n\n"
     "%from$n = " WORD "%q$n, i64 $L\n"
     "%old$n = load " P ", ptr %from$n\n"
     "%new$n = call " P " @ir_cons(i64 $x, " P " %old$n)\n"
     "%again$n = load ptr, ptr %p$n\n"
     "%to$n = " WORD "%again$n, i64 $K\n"
     "store " P " %new$n, ptr %to$n"},
    {"one word",
     "node o$n = v[$M];\n"
     "v[$K] = ir_cons(x, v[$L]);\n"
     "v[$E] = o$n;",
     "=a %o$n = alloca i64\n"
     "%m$n = extractelement " V " $v, i64 $M\n"
     "store " P " %m$n, ptr %o$n\n" CONS "%w$n = insertelement " V " $v, " P " %new$n, i64 $K\n"
     "%loaded$n = load " P ", ptr %o$n\n"
     "%v$n = insertelement " V " %w$n, " P " %loaded$n, i64 $E\n"
     "=v %v$n"},
    {"reference and number",
     "node o$n = v[$M];\n"
     "v[$K] = ir_cons(x, v[$L]);\n"
     "x = x * 3 + $I;\n"
     "v[$E] = o$n;",
     "=a %o$n = alloca [16 x i8]\n"
     "%m$n = extractelement " V " $v, i64 $M\n"
     "%second$n = " WORD "%o$n, i64 1\n"
     "store i64 $I, ptr %second$n\n"
     "store " P " %m$n, ptr %o$n\n" CONS "%w$n = insertelement " V " $v, " P " %new$n, i64 $K\n"
     "%loaded$n = load " P ", ptr %o$n\n"
     "%i$n = load i64, ptr %second$n\n"
     "%v$n = insertelement " V " %w$n, " P " %loaded$n, i64 $E\n"
     "=v %v$n\n"
     "%times$n = mul i64 $x, 3\n"
     "%x$n = add i64 %times$n, %i$n\n"
     "=x %x$n"},
    {"memory with a lifetime",
     "node o$n[] = {v[$M], v[$E]};\n"
     "v[$K] = ir_cons(x, v[$L]);\n"
     "v[$F] = o$n[$N & 1];",
     "=a %o$n = alloca [2 x i64]\n"
     "call void @llvm.lifetime.start.p0(ptr %o$n)\n"
     "%m$n = extractelement " V " $v, i64 $M\n"
     "%e$n = extractelement " V " $v, i64 $E\n"
     "store " P " %m$n, ptr %o$n\n"
     "%second$n = " WORD "%o$n, i64 1\n"
     "store " P " %e$n, ptr %second$n\n" CONS "%w$n = insertelement " V " $v, " P " %new$n, i64 $K\n"
     "%which$n = and i64 $N, 1\n"
     "%at$n = " WORD "%o$n, i64 %which$n\n"
     "%loaded$n = load " P ", ptr %at$n\n"
     "call void @llvm.lifetime.end.p0(ptr %o$n)\n"
     "%v$n = insertelement " V " %w$n, " P " %loaded$n, i64 $F\n"
     "=v %v$n"},
    {"zeroed memory",
     "node o$n[] = {NULL, v[$M]};\n"
     "v[$K] = ir_cons(x, o$n[0]);\n"
     "v[$E] = o$n[1];",
     "=a %o$n = alloca [2 x i64]\n"
     "call void @llvm.memset.p0.i64(ptr align 8 %o$n, i8 0, i64 16, i1 0)\n"
     "%m$n = extractelement " V " $v, i64 $M\n"
     "%second$n = " WORD "%o$n, i64 1\n"
     "store " P " %m$n, ptr %second$n\n"
     "%null$n = load " P ", ptr %o$n\n"
     "%new$n = call " P " @ir_cons(i64 $x, " P " %null$n)\n"
     "%w$n = insertelement " V " $v, " P " %new$n, i64 $K\n"
     "%loaded$n = load " P ", ptr %second$n\n"
     "%v$n = insertelement " V " %w$n, " P " %loaded$n, i64 $E\n"
     "=v %v$n"},
    {"atomic exchange",
     "node o$n = s$S[$M];\n"
     "s$S[$M] = ir_cons(x, v[$L]);\n"
     "v[$K] = o$n;",
     CONS "%at$n = " WORD "%s$S, i64 $M\n"
          "%loaded$n = atomicrmw xchg ptr %at$n, " P " %new$n seq_cst\n" INSERT},
    {"masked store and load",
     "for (int i = 0; i < 4; i++)\n"
     "    if (x >> i & 1)\n"
     "        s$S[i] = v[i];\n"
     "ir_cons(x, v[$L]);\n"
     "for (int i = 0; i < 4; i++)\n"
     "    if (x >> i & 1)\n"
     "        v[i] = s$T[i];",
     "%low$n = trunc i64 $x to i4\n"
     "%mask$n = bitcast i4 %low$n to <4 x i1>\n"
     "call void @llvm.masked.store.v4p10.p0(" V " $v, ptr align 8 %s$S, <4 x i1> %mask$n)\n" CONS "%v$n = call " V
     " @llvm.masked.load.v4p10.p0(ptr align 8 %s$T, <4 x i1> %mask$n, " V " $v)\n"
     "=v %v$n"},
};
const struct kinds stack_steps = KINDS(rows);
