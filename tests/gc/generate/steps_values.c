/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Aggregates and vectors of references as values, in operand bundles and in calls; and pointers to memory that
 * objects own. */

#include "generate.h"

#define V      "<4 x ptr addrspace(10)>"
#define P      "ptr addrspace(10)"
#define D      "ptr addrspace(11)"
#define OWNED  "ptr addrspace(13)"
#define COUPLE "%couple"
#define TRIPLE "%mixed"
#define WIDE   "%four"
#define ODD    "%bit$n = and i64 $x, $N\n%odd$n = icmp ne i64 %bit$n, 0\n"
#define K      "%k$n = extractelement " V " $v, i64 $K\n"
#define L      "%l$n = extractelement " V " $v, i64 $L\n"
#define CONS   "%old$n = extractelement " V " $v, i64 $E\n%new$n = call " P " @ir_cons(i64 $x, " P " %old$n)\n"
#define INSERT "%v$n = insertelement " V " $v, " P " %result$n, i64 $F\n=v %v$n"
/* The next value of x from a number. */
#define MIX "%times$n = mul i64 $x, 3\n%x$n = add i64 %times$n, %number$n\n=x %x$n"

/* Two triples of lanes. */
#define TRIPLES                                                                                                        \
    K L "%one$n = insertvalue " TRIPLE " poison, " P " %k$n, 0\n"                                                      \
        "%two$n = insertvalue " TRIPLE " %one$n, i64 $I, 1\n"                                                          \
        "%three$n = insertvalue " TRIPLE " %two$n, " P " %l$n, 2, 0\n"                                                 \
        "%first$n = insertvalue " TRIPLE " %three$n, " P " %k$n, 2, 1\n"                                               \
        "%four$n = insertvalue " TRIPLE " %first$n, " P " %l$n, 0\n"                                                   \
        "%second$n = insertvalue " TRIPLE " %four$n, i64 $x, 1\n"
#define PARTS                                                                                                          \
    "%number$n = extractvalue " TRIPLE " %some$n, 1\n"                                                                 \
    "%result$n = extractvalue " TRIPLE " %some$n, 0\n"                                                                 \
    "%last$n = extractvalue " TRIPLE " %some$n, 2, 1\n"                                                                \
    "call void @ir_note(" P " %last$n)\n" INSERT "\n" MIX
#define C_TRIPLES "struct mixed first$n = {v[$K], $I, {v[$L], v[$K]}}, second$n = {v[$L], x, {v[$L], v[$K]}}, some$n;\n"
#define C_PARTS                                                                                                        \
    "ir_note(some$n.pair[1]);\n"                                                                                       \
    "v[$F] = some$n.first;\n"                                                                                          \
    "x = x * 3 + some$n.number;"

/* A buffer, and its own words' addresses in it: raw pointers, which are good until the next safepoint. */
#define BUFFER(n, x) "%buffer" n " = call " P " @ir_buffer(i64 " x ")\n"
#define FILL(n)                                                                                                        \
    "%object" n " = addrspacecast " P " %buffer" n " to " D "\n"                                                       \
    "%start" n " = call ptr @julia.pointer_from_objref(" P " %buffer" n ")\n"                                          \
    "%words" n " = getelementptr i64, ptr %start" n ", i64 2\n"                                                        \
    "store ptr %words" n ", " D " %object" n "\n"                                                                      \
    "%also" n " = getelementptr i64, " D " %object" n ", i64 1\n"                                                      \
    "%more" n " = getelementptr i64, ptr %start" n ", i64 4\n"                                                         \
    "store ptr %more" n ", " D " %also" n "\n"
#define C_BUFFER(n, x)                                                                                                 \
    "struct buffer *buffer" n " = ir_buffer(" x ");\n"                                                                 \
    "buffer" n "->data[0] = buffer" n "->words, buffer" n "->data[1] = buffer" n "->words + 2;\n"
#define WORD(from)                                                                                                     \
    "%at$n = getelementptr i64, " OWNED " " from ", i64 $J\n"                                                          \
    "%number$n = load i64, " OWNED " %at$n\n" MIX

static const struct kind rows[] = {
    {"struct", C_TRIPLES "v[$G] = ir_cons(x, v[$E]);\nsome$n = first$n;\n" C_PARTS,
     TRIPLES CONS "%w$n = insertelement " V " $v, " P " %new$n, i64 $G\n"
                  "=v %w$n\n"
                  "%some$n = freeze " TRIPLE " %first$n\n" PARTS},
    {"select structs", C_TRIPLES "some$n = x & $N ? first$n : second$n;\nir_cons(x, v[$E]);\n" C_PARTS,
     TRIPLES ODD "%some$n = select i1 %odd$n, " TRIPLE " %first$n, " TRIPLE " %second$n\n" CONS PARTS},
    {"struct of one of two blocks",
     C_TRIPLES "if (x & $N)\n"
               "    first$n.pair[1] = ir_cons(x, v[$E]);\n"
               "some$n = x & $N ? first$n : second$n;\n"
               "ir_cons(x, v[$L]);\n" C_PARTS,
     TRIPLES ODD "br i1 %odd$n, label %good$n, label %join$n\n"
                 "good$n:\n" CONS "%changed$n = insertvalue " TRIPLE " %first$n, " P " %new$n, 2, 1\n"
                 "br label %join$n\n"
                 "join$n:\n"
                 "%some$n = phi " TRIPLE " [%changed$n, %good$n], [%second$n, %$b]\n"
                 "%l2$n = extractelement " V " $v, i64 $L\n"
                 "call " P " @ir_cons(i64 $x, " P " %l2$n)\n" PARTS},
    {"struct in a loop",
     C_TRIPLES "for (long i = 0; i < $N; i++) {\n"
               "    node made = ir_cons(i, first$n.pair[0]);\n"
               "    first$n = (struct mixed){first$n.pair[1], first$n.number + i, {made, first$n.first}};\n"
               "}\n"
               "some$n = first$n;\n" C_PARTS,
     TRIPLES "br label %loop$n\n"
             "loop$n:\n"
             "%i$n = phi i64 [0, %$b], [%next$n, %loop$n]\n"
             "%all$n = phi " TRIPLE " [%first$n, %$b], [%some$n, %loop$n]\n"
             "%old$n = extractvalue " TRIPLE " %all$n, 2, 0\n"
             "%made$n = call " P " @ir_cons(i64 %i$n, " P " %old$n)\n"
             "%was1$n = extractvalue " TRIPLE " %all$n, 2, 1\n"
             "%was0$n = extractvalue " TRIPLE " %all$n, 0\n"
             "%count$n = extractvalue " TRIPLE " %all$n, 1\n"
             "%sum$n = add i64 %count$n, %i$n\n"
             "%set1$n = insertvalue " TRIPLE " %all$n, " P " %was1$n, 0\n"
             "%set2$n = insertvalue " TRIPLE " %set1$n, i64 %sum$n, 1\n"
             "%set3$n = insertvalue " TRIPLE " %set2$n, " P " %made$n, 2, 0\n"
             "%some$n = insertvalue " TRIPLE " %set3$n, " P " %was0$n, 2, 1\n"
             "%next$n = add i64 %i$n, 1\n"
             "%again$n = icmp ult i64 %next$n, $N\n"
             "br i1 %again$n, label %loop$n, label %done$n\n"
             "done$n:\n" PARTS},
    {"struct in memory",
     C_TRIPLES "first$n.first = ir_cons(x, v[$E]);\n"
               "some$n = first$n;\n" C_PARTS,
     TRIPLES "=a %m$n = alloca " TRIPLE "\n"
             "store " TRIPLE " %first$n, ptr %m$n\n" CONS "store " P " %new$n, ptr %m$n\n"
             "%some$n = load " TRIPLE ", ptr %m$n\n" PARTS},
    {"struct and vector",
     "struct couple c$n = {v[$K], v[$L]};\n"
     "v[$F] = ir_cons(x, v[$E]);\n"
     "v[$G] = c$n.b;",
     K L "%one$n = insertelement <2 x " P "> poison, " P " %k$n, i64 0\n"
         "%two$n = insertelement <2 x " P "> %one$n, " P " %l$n, i64 1\n"
         "%pair$n = insertvalue { i64, <2 x " P "> } poison, <2 x " P "> %two$n, 1\n" CONS
         "%both$n = extractvalue { i64, <2 x " P "> } %pair$n, 1\n"
         "%b$n = extractelement <2 x " P "> %both$n, i64 1\n"
         "%w$n = insertelement " V " $v, " P " %new$n, i64 $F\n"
         "%v$n = insertelement " V " %w$n, " P " %b$n, i64 $G\n"
         "=v %v$n"},
    {"derived in a struct",
     "struct couple c$n = {v[$K], v[$L]};\n"
     "v[$F] = ir_cons(x, v[$E]);\n"
     "x = x * 3 + (x & $N ? c$n.a : c$n.b)->value;",
     K L "%dk$n = addrspacecast " P " %k$n to " D "\n"
         "%dl$n = addrspacecast " P " %l$n to " D "\n"
         "%vk$n = getelementptr i64, " D " %dk$n, i64 2\n"
         "%vl$n = getelementptr i64, " D " %dl$n, i64 2\n"
         "%one$n = insertvalue { " P ", " D " } poison, " P " %k$n, 0\n"
         "%first$n = insertvalue { " P ", " D " } %one$n, " D " %vk$n, 1\n"
         "%two$n = insertvalue { " P ", " D " } poison, " P " %l$n, 0\n"
         "%second$n = insertvalue { " P ", " D " } %two$n, " D " %vl$n, 1\n" ODD "%some$n = select i1 %odd$n, { " P
         ", " D " } %first$n, { " P ", " D " } %second$n\n" CONS "%at$n = extractvalue { " P ", " D " } %some$n, 1\n"
         "%number$n = load i64, " D " %at$n\n"
         "%v$n = insertelement " V " $v, " P " %new$n, i64 $F\n"
         "=v %v$n\n" MIX},
    {"returned struct",
     "struct couple c$n = ir_couple(v[$K], v[$L], x);\n"
     "v[$F] = ir_cons(x, c$n.a);\n"
     "v[$G] = c$n.b;",
     K L "%both$n = call " COUPLE " @ir_couple(" P " %k$n, " P " %l$n, i64 $x)\n"
         "%a$n = extractvalue " COUPLE " %both$n, 0\n"
         "%new$n = call " P " @ir_cons(i64 $x, " P " %a$n)\n"
         "%b$n = extractvalue " COUPLE " %both$n, 1\n"
         "%w$n = insertelement " V " $v, " P " %new$n, i64 $F\n"
         "%v$n = insertelement " V " %w$n, " P " %b$n, i64 $G\n"
         "=v %v$n"},
    /* Too large for registers: LLVM returns it in memory. */
    {"returned wide struct",
     "struct four w$n = {{v[$L], ir_cons(x, v[$K]), v[$K], v[$L]}};\n"
     "v[$F] = ir_cons(x, w$n.items[$G]);\n"
     "v[$H] = w$n.items[$M];",
     K L "%wide$n = call " WIDE " @ir_wide(" P " %k$n, " P " %l$n, i64 $x)\n"
         "%a$n = extractvalue " WIDE " %wide$n, $G\n"
         "%new$n = call " P " @ir_cons(i64 $x, " P " %a$n)\n"
         "%b$n = extractvalue " WIDE " %wide$n, $M\n"
         "%w$n = insertelement " V " $v, " P " %new$n, i64 $F\n"
         "%v$n = insertelement " V " %w$n, " P " %b$n, i64 $H\n"
         "=v %v$n"},
    {"vector in, vector out",
     "ir_cons(x, v[$K]);\n"
     "shuffle(v, 1, 2, 3, 0);\n"
     "v[0] = ir_cons(x, v[0]);",
     K "call " P " @ir_cons(i64 $x, " P " %k$n)\n"
       "%v$n = call " V " @ir_turn(" V " $v, i64 $x)\n"
       "=v %v$n"},
    {"struct as argument",
     C_TRIPLES "some$n = x & $N ? first$n : second$n;\n"
               "some$n.first = ir_cons(some$n.number, some$n.pair[0]);\n" C_PARTS,
     TRIPLES ODD "%chosen$n = select i1 %odd$n, " TRIPLE " %first$n, " TRIPLE " %second$n\n"
                 "%some$n = call " TRIPLE " @ir_passed(" TRIPLE " %chosen$n)\n" PARTS},
    {"returned derived",
     "v[$F] = ir_cons(x, v[$K]);\n"
     "ir_cons(x, v[$L]);\n"
     "x = x * 3 + v[$F]->value;",
     K L "%both$n = call { " P ", " D " } @ir_inside(" P " %k$n, i64 $x)\n"
         "%at$n = extractvalue { " P ", " D " } %both$n, 1\n"
         "%result$n = extractvalue { " P ", " D " } %both$n, 0\n"
         "call " P " @ir_cons(i64 $x, " P " %l$n)\n"
         "%number$n = load i64, " D " %at$n\n" INSERT "\n" MIX},
    {"stored struct",
     "memory->items[1] = ir_cons(x, v[$E]), memory->items[2] = v[$L];\n"
     "v[$F] = memory->items[$M];",
     L CONS "%object$n = addrspacecast " P " %memory to " D "\n"
            "%to$n = getelementptr i64, " D " %object$n, i64 2\n"
            "%one$n = insertvalue " COUPLE " poison, " P " %new$n, 0\n"
            "%two$n = insertvalue " COUPLE " %one$n, " P " %l$n, 1\n"
            "store " COUPLE " %two$n, " D " %to$n\n"
            "%items$n = getelementptr i64, " D " %object$n, i64 1\n"
            "%all$n = load [4 x " P "], " D " %items$n\n"
            "%result$n = extractvalue [4 x " P "] %all$n, $M\n" INSERT},

    /* ---- operand bundles, preserved values: the object of a raw address does not move ---- */
    {"vector in a bundle", "x = x * 3 + ir_look((long *)v[$K], x);",
     K "%raw$n = call ptr @julia.pointer_from_objref(" P " %k$n)\n"
       "%number$n = call i64 @ir_look(ptr %raw$n, i64 $x) [ \"jl_roots\"(" V " $v) ]\n" MIX},
    {"struct in a bundle",
     C_TRIPLES "some$n = x & $N ? first$n : second$n;\n"
               "x = x * 3 + ir_look((long *)some$n.pair[0], x);",
     TRIPLES ODD "%some$n = select i1 %odd$n, " TRIPLE " %first$n, " TRIPLE " %second$n\n"
                 "%one$n.0 = extractvalue " TRIPLE " %some$n, 2, 0\n"
                 "%raw$n = call ptr @julia.pointer_from_objref(" P " %one$n.0)\n"
                 "%number$n = call i64 @ir_look(ptr %raw$n, i64 $x) [ \"jl_roots\"(" TRIPLE " %some$n, " P
                 " %memory) ]\n" MIX},
    {"array in a bundle",
     "ir_cons(x, v[$E]);\n"
     "x = x * 3 + ir_look((long *)v[$K], x);",
     K L "%one$n = insertvalue [2 x " P "] poison, " P " %l$n, 0\n"
         "%two$n = insertvalue [2 x " P "] %one$n, " P " %k$n, 1\n" CONS "%one$n.0 = extractvalue [2 x " P
         "] %two$n, 1\n"
         "%raw$n = call ptr @julia.pointer_from_objref(" P " %one$n.0)\n"
         "%number$n = call i64 @ir_look(ptr %raw$n, i64 $x) [ \"jl_roots\"([2 x " P "] %two$n) ]\n" MIX},
    {"preserved vector",
     "long *raw$n = (long *)v[$K];\n"
     "v[$F] = ir_cons(x, v[$E]);\n"
     "x = x * 3 + raw$n[2];",
     "%held$n = call token (...) @llvm.julia.gc_preserve_begin(" V " $v)\n" K
     "%raw$n = call ptr @julia.pointer_from_objref(" P " %k$n)\n" CONS "%at$n = getelementptr i64, ptr %raw$n, i64 2\n"
     "%number$n = load i64, ptr %at$n\n"
     "call void @llvm.julia.gc_preserve_end(token %held$n)\n"
     "%v$n = insertelement " V " $v, " P " %new$n, i64 $F\n"
     "=v %v$n\n" MIX},
    {"preserved struct",
     C_TRIPLES "some$n = x & $N ? first$n : second$n;\n"
               "long *raw$n = (long *)some$n.first;\n"
               "v[$F] = ir_cons(x, v[$E]);\n"
               "x = x * 3 + raw$n[2];",
     TRIPLES ODD "%some$n = select i1 %odd$n, " TRIPLE " %first$n, " TRIPLE " %second$n\n"
                 "%held$n = call token (...) @llvm.julia.gc_preserve_begin(" TRIPLE " %some$n, " P " %memory)\n"
                 "%own$n = extractvalue " TRIPLE " %some$n, 0\n"
                 "%raw$n = call ptr @julia.pointer_from_objref(" P " %own$n)\n" CONS
                 "%at$n = getelementptr i64, ptr %raw$n, i64 2\n"
                 "%number$n = load i64, ptr %at$n\n"
                 "call void @llvm.julia.gc_preserve_end(token %held$n)\n"
                 "%v$n = insertelement " V " $v, " P " %new$n, i64 $F\n"
                 "=v %v$n\n" MIX},

    /* ---- memory that an object owns: the object neither dies nor moves while there is a pointer to it ---- */
    {"owned memory",
     C_BUFFER("$n", "x") "long *owned$n = buffer$n->data[0];\n"
                         "v[$F] = ir_cons(x, v[$E]);\n"
                         "x = x * 3 + owned$n[$J];",
     BUFFER("$n", "$x") FILL("$n") "%owned$n = load " OWNED ", " D " %object$n\n" CONS "%v$n = insertelement " V
                                   " $v, " P " %new$n, i64 $F\n"
                                   "=v %v$n\n" WORD("%owned$n")},
    {"owner by name",
     C_BUFFER("$n", "x") "long *owned$n = buffer$n->data[0];\n"
                         "ir_cons(x, v[$E]);\n"
                         "x = x * 3 + owned$n[$J];",
     BUFFER("$n", "$x") FILL("$n") "%raw$n = load ptr, " D " %object$n\n"
                                   "%owned$n = call " OWNED " @julia.gc_loaded(" P
                                   " %buffer$n, ptr %raw$n)\n" CONS WORD("%owned$n")},
    {"one of two owned",
     C_BUFFER("1_$n", "x") C_BUFFER("2_$n", "x + 5") "long *owned$n = x & $N ? buffer1_$n->words : buffer2_$n->words;\n"
                                                     "ir_cons(x, v[$E]);\n"
                                                     "x = x * 3 + owned$n[$J];",
     BUFFER("1_$n", "$x") FILL("1_$n") "%owned1_$n = load " OWNED ", " D " %object1_$n\n"
                                       "%sum$n = add i64 $x, 5\n" BUFFER("2_$n", "%sum$n")
                                           FILL("2_$n") "%owned2_$n = load " OWNED ", " D " %object2_$n\n" ODD
                                                        "%owned$n = select i1 %odd$n, " OWNED " %owned1_$n, " OWNED
                                                        " %owned2_$n\n" CONS WORD("%owned$n")},
    {"owned by one of two",
     C_BUFFER("1_$n", "x") C_BUFFER("2_$n", "x + 5") "long *owned$n = x & $N ? buffer1_$n->words : buffer2_$n->words;\n"
                                                     "ir_cons(x, v[$E]);\n"
                                                     "x = x * 3 + owned$n[$J];",
     "%sum$n = add i64 $x, 5\n" BUFFER("1_$n", "$x") BUFFER("2_$n", "%sum$n") FILL("1_$n") FILL("2_$n") ODD
     "%object$n = select i1 %odd$n, " D " %object1_$n, " D " %object2_$n\n"
     "%owned$n = load " OWNED ", " D " %object$n\n" CONS WORD("%owned$n")},
    {"owned in one of two blocks",
     C_BUFFER("1_$n", "x") C_BUFFER("2_$n", "x + 5") "long *owned$n = x & $N ? buffer1_$n->words : buffer2_$n->words;\n"
                                                     "ir_cons(x, v[$E]);\n"
                                                     "x = x * 3 + owned$n[$J];",
     "%sum$n = add i64 $x, 5\n" BUFFER("1_$n", "$x") BUFFER("2_$n", "%sum$n") FILL("1_$n") FILL("2_$n") ODD
     "br i1 %odd$n, label %one$n, label %two$n\n"
     "one$n:\n"
     "%owned1_$n = load " OWNED ", " D " %object1_$n\n"
     "br label %join$n\n"
     "two$n:\n"
     "%owned2_$n = load " OWNED ", " P " %buffer2_$n\n"
     "br label %join$n\n"
     "join$n:\n"
     "%owned$n = phi " OWNED " [%owned1_$n, %one$n], [%owned2_$n, %two$n]\n" CONS WORD("%owned$n")},
    {"vector of owned",
     C_BUFFER("$n", "x") "ir_cons(x, v[$E]);\n"
                         "x = x * 3 + buffer$n->words[$J + 2 * ($N & 1)];",
     BUFFER("$n", "$x")
         FILL("$n") "%both$n = load <2 x " OWNED ">, " D " %object$n, align 8\n" CONS "%which$n = and i64 $N, 1\n"
                    "%owned$n = extractelement <2 x " OWNED "> %both$n, i64 %which$n\n" WORD("%owned$n")},
    {"masked load of owned",
     C_BUFFER("$n", "x") "ir_cons(x, v[$E]);\n"
                         "x = x * 3 + buffer$n->words[$J + 2];",
     BUFFER("$n", "$x") FILL("$n") "%both$n = call <2 x " OWNED "> @llvm.masked.load.v2p13.p11(" D
                                   " align 8 %object$n, <2 x i1> <i1 0, i1 1>, <2 x " OWNED "> zeroinitializer)\n" CONS
                                   "%owned$n = extractelement <2 x " OWNED "> %both$n, i64 1\n" WORD("%owned$n")},
    {"owned through owned",
     C_BUFFER("$n", "x") "ir_cons(x, v[$E]);\n"
                         "x = x * 3 + buffer$n->words[$J + 2];",
     BUFFER("$n", "$x") FILL("$n") "store ptr %more$n, ptr %words$n\n"
                                   "%first$n = load " OWNED ", " D " %object$n\n" CONS "%owned$n = load " OWNED
                                   ", " OWNED " %first$n\n"
                                   "call " P " @ir_cons(i64 $x, " P " %new$n)\n" WORD("%owned$n")},
    {"owned as argument", C_BUFFER("$n", "x") "x = x * 3 + ir_look(buffer$n->words + 1, x);",
     BUFFER("$n", "$x") FILL("$n") "%owned$n = load " OWNED ", " D " %also$n\n"
                                   "%before$n = getelementptr i64, " OWNED " %owned$n, i64 -1\n"
                                   "%number$n = call i64 @ir_read(" OWNED " %before$n, i64 $x)\n" MIX},
    /* References in memory that the object owns: stores there log the owner. */
    {"owned references",
     "struct holder *holder$n = ir_holder(v[$K], v[$L]);\n"
     "holder$n->items[1] = ir_cons(x, v[$E]);\n"
     "v[$F] = holder$n->items[$J & 1];",
     K L "%holder$n = call " P " @ir_holder(" P " %k$n, " P " %l$n)\n"
         "%object$n = addrspacecast " P " %holder$n to " D "\n"
         "%start$n = call ptr @julia.pointer_from_objref(" P " %holder$n)\n"
         "%items$n = getelementptr i64, ptr %start$n, i64 1\n"
         "store ptr %items$n, " D " %object$n\n"
         "%owned$n = load " OWNED ", " D " %object$n\n" CONS "%second$n = getelementptr i64, " OWNED
         " %owned$n, i64 1\n"
         "store " P " %new$n, " OWNED " %second$n\n"
         "call " P " @ir_cons(i64 $x, " P " %new$n)\n"
         "%which$n = and i64 $J, 1\n"
         "%at$n = getelementptr i64, " OWNED " %owned$n, i64 %which$n\n"
         "%result$n = load " P ", " OWNED " %at$n\n" INSERT},
};
const struct kinds value_steps = KINDS(rows);
