; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

; What a type descriptor lists, and what the program does with objects of that type.

; RUN: rm -rf %t && split-file %s %t
; RUN: %clang -g -O1 -Xclang -disable-llvm-passes -I%include -emit-llvm -c %t/bad.c -o %t/bad.bc
; RUN: not %tenon verify - <%t/bad.bc 2>&1 | FileCheck %t/bad.c --implicit-check-not=error:
; RUN: not %tenon compile %t/bad.bc -o %t/bad.o 2>&1 | FileCheck %t/bad.c --implicit-check-not=error:
; RUN: %clang -O1 -Xclang -disable-llvm-passes -I%include -emit-llvm -c %t/bad.c -o %t/plain.bc
; RUN: not %tenon verify - <%t/plain.bc 2>&1 | FileCheck %s --check-prefix=PLAIN
; PLAIN: error: in function 'members': store {{.*}} the member at offset 8 of 'struct node' is a reference, but the type does not list it
; RUN: %clang -O0 -I%include -emit-llvm -c %t/good.c -o %t/good.bc
; RUN: %tenon verify %t/good.bc
; RUN: %clang -g -O1 -Xclang -disable-llvm-passes -I%include -emit-llvm -c %t/good.c -o %t/good.bc
; RUN: %tenon verify %t/good.bc
; RUN: %clang -g -O1 -Xclang -disable-llvm-passes -I%include -emit-llvm -c %t/pun.c -o %t/pun.bc
; RUN: not %tenon verify - <%t/pun.bc 2>&1 | FileCheck %t/pun.c --implicit-check-not=error:
; RUN: not %tenon verify - <%t/types.ll 2>&1 | FileCheck %t/types.ll --implicit-check-not=error:

;--- bad.c
#include "tenon_managed.h"
struct inner { long n; struct node tn_ref *deep; };
struct node { struct node tn_ref *next, *other; struct inner inner; struct node tn_ref *list[3]; };
TN_TYPE(struct node, next);
// CHECK: bad.c:[[@LINE+5]]:{{.*}}error: in function 'members': store {{.*}} the member 'other' of 'struct node' is a reference, but the type does not list it (TN_TYPE): it would go stale [undeclared]
// CHECK: bad.c:[[@LINE+5]]:{{.*}}the member 'inner.deep' of 'struct node' is a reference,
// CHECK: bad.c:[[@LINE+5]]:{{.*}}the member 'list[2]' of 'struct node' is a reference,
void members(struct node tn_ref *a, struct node tn_ref *b)
{
    a->other = b;
    a->inner.deep = b;
    a->list[2] = b;
    a->next = b;
    a->inner.n = 1;
}

// The array's own references, and its elements' other ones.
struct item { struct node tn_ref *a, *b; };
struct items { size_t length; struct node tn_ref *owner; struct item items[]; };
TN_ARRAY_OF_STRUCTS(struct items, items, a);
// CHECK: bad.c:[[@LINE+4]]:{{.*}}the member 'owner' of 'struct items' is a reference,
// CHECK: bad.c:[[@LINE+5]]:{{.*}}the member 'items[0].b' of 'struct items' is a reference,
void elements(struct items tn_ref *items, size_t i)
{
    items->owner = items->items[i].a;
    items->items[i].a = items->owner;
    items->items[i].b = items->owner;
}

// One that is only read, of a type that is said to have none, and that only a typedef names.
typedef struct { long n; struct node tn_ref *node; } leaf;
TN_LEAF(leaf);
// CHECK: bad.c:[[@LINE+3]]:{{.*}}error: in function 'read': {{.*}} = load {{.*}} the member 'node' of 'leaf' is a reference,
struct node tn_ref *read(leaf tn_ref *l)
{
    return l->node;
}

struct names { size_t length; struct node tn_ref *owner; struct node tn_ref *items[]; };
TN_ARRAY_OF_REFERENCES(struct names, items);
// CHECK: bad.c:[[@LINE+4]]:{{.*}}the member 'owner' of 'struct names' is a reference,
struct node tn_ref *name(struct names tn_ref *names, size_t i)
{
    names->items[i] = names->items[0];
    return names->owner;
}

;--- pun.c
#include "tenon_managed.h"
// Bytes of an object that are copied to memory of numbers, and from there. Errors about places come first, then those about words.
struct two { struct node tn_ref *node; long n; };
TN_TYPE(struct two, node);
// CHECK: pun.c:[[@LINE+4]]:{{.*}}error: in function 'shifted': {{.*}} references in memory lie at multiples of 8 bytes [stack-layout]
void shifted(struct two tn_ref *t)
{
    char bytes[24];
    __builtin_memcpy(bytes + 4, &t->node, sizeof *t);
}
// CHECK: pun.c:[[@LINE+5]]:{{.*}}error: in function 'read': {{.*}} = load i64, {{.*}}: this memory is used as a reference and as something else{{.*}} [pun]
long read(struct two tn_ref *t)
{
    long words[2];
    __builtin_memcpy(words, &t->node, sizeof words);
    return words[0] + words[1];
}
// CHECK: error: in function 'written': store i64 {{.*}}: this memory is used as a reference and as something else{{.*}} [pun]
void written(struct two tn_ref *t, long n)
{
    long words[] = {n, n};
    __builtin_memcpy(&t->node, words, sizeof words);
}
// A number where a reference is listed.
struct number { struct number tn_ref *node; };
TN_TYPE(struct number, node);
// CHECK: pun.c:[[@LINE+3]]:{{.*}}error: in function 'number': {{.*}} = load i64, {{.*}} the member 'node' of 'struct number' is a reference, and is accessed as something else [pun]
long number(struct number tn_ref *n)
{
    return *(long tn_ref *)&n->node;
}
;--- good.c
#include "tenon_managed.h"
struct inner { long n; struct node tn_ref *deep; };
struct node { struct node tn_ref *next, *other; struct inner inner; struct node tn_ref *list[3]; long numbers[2]; void *raw; };
TN_TYPE(struct node, next, other, inner.deep, list[0], list[1], list[2]);
struct item { struct node tn_ref *a, *b; long n; };
struct items { size_t length; struct item items[]; };
TN_ARRAY_OF_STRUCTS(struct items, items, a, b);
/* No descriptor of this one is known here. */
struct elsewhere { struct node tn_ref *node; long n; };
extern const struct tn_type tn_type_of_elsewhere;
/* Bytes of an object are numbers where its type lists no reference. */
long second(struct item tn_ref *item, struct elsewhere tn_ref *e)
{
    struct node tn_ref *nodes[2];
    long words[2], n;
    __builtin_memcpy(nodes, item, sizeof nodes);
    __builtin_memcpy(&n, &item->n, sizeof n);
    __builtin_memcpy(words, &e->n, sizeof words[0]);
    return n + words[0];
}
/* The beginning of others, without objects of its own. */
struct header { struct node tn_ref *first; };
void all(struct node tn_ref *a, struct items tn_ref *items, struct elsewhere tn_ref *e, struct header tn_ref *h, size_t i)
{
    struct inner tn_ref *inner = &a->inner;
    inner->deep = a;
    a->other = a->list[i];
    a->list[i] = inner->deep;
    a->inner = *inner;
    a->numbers[i] = (long)i;
    a->raw = tn_pin(a);
    items->items[i] = items->items[i + 1];
    items->items[i].b = a;
    items->items[i].n = 3;
    e->node = h->first;
    e->n = 2;
    struct inner tn_ref *either = i ? inner : &a->next->inner;
    either->deep = a;
    __builtin_memset(a, 0, sizeof *a);
}

;--- types.ll
; Of a new object the type is known in any language.
%tn_type = type { ptr, i32, i32, i64, i64, i64, i64, ptr, i64, ptr }
@name = private constant [5 x i8] c"list\00"
@list = constant %tn_type { ptr @name, i32 1, i32 8, i64 24, i64 0, i64 0, i64 1, ptr null, i64 0, ptr null }, align 16
@places = private constant [2 x i32] [i32 0, i32 1024]
@large = constant %tn_type { ptr null, i32 1, i32 8, i64 2048, i64 0, i64 0, i64 0, ptr @places, i64 2, ptr null }, align 16
@custom = constant %tn_type { ptr null, i32 6, i32 8, i64 24, i64 0, i64 0, i64 0, ptr null, i64 0, ptr @visit }, align 16
@unknown = external constant %tn_type
@small = constant { [2 x i64] } zeroinitializer
declare void @visit()
declare ptr addrspace(10) @tenon.gc_alloc_obj(ptr, i64, ptr addrspace(10))

; CHECK: error: in function 'list_one': store ptr addrspace(10) %o, ptr addrspace(11) %q{{.*}} the member at offset 8 of 'list' is a reference, {{.*}} [undeclared]
; CHECK: error: in function 'list_one': store <2 x ptr addrspace(10)> %v, {{.*}} the member at offset 16 of 'list'
; CHECK: error: in function 'list_one': store i64 %n, {{.*}} the member at offset 0 of 'list' is a reference, and is accessed as something else [pun]
define ptr addrspace(10) @list_one(ptr addrspace(10) %o, i64 %n, <2 x ptr addrspace(10)> %v) {
  %l = call ptr addrspace(10) @tenon.gc_alloc_obj(ptr null, i64 24, ptr addrspace(10) addrspacecast (ptr @list to ptr addrspace(10)))
  %d = addrspacecast ptr addrspace(10) %l to ptr addrspace(11)
  %q = getelementptr i8, ptr addrspace(11) %d, i64 8
  store i64 0, ptr addrspace(11) %d
  store ptr addrspace(10) null, ptr addrspace(11) %q
  store ptr addrspace(10) %o, ptr addrspace(11) %d
  store i64 %n, ptr addrspace(11) %q
  store ptr addrspace(10) %o, ptr addrspace(11) %q
  store <2 x ptr addrspace(10)> %v, ptr addrspace(11) %q
  store i64 %n, ptr addrspace(11) %d
  ret ptr addrspace(10) %l
}

; By a list of offsets, last one and first one that is not.
; CHECK: error: in function 'large_one': {{.*}} the member at offset 1032 of 'large'
define ptr addrspace(10) @large_one(ptr addrspace(10) %o) {
  %l = call ptr addrspace(10) @tenon.gc_alloc_obj(ptr null, i64 2048, ptr addrspace(10) addrspacecast (ptr @large to ptr addrspace(10)))
  %d = addrspacecast ptr addrspace(10) %l to ptr addrspace(11)
  %p = getelementptr i8, ptr addrspace(11) %d, i64 1024
  store ptr addrspace(10) %o, ptr addrspace(11) %p
  %q = getelementptr i8, ptr addrspace(11) %d, i64 1032
  store ptr addrspace(10) %o, ptr addrspace(11) %q
  ret ptr addrspace(10) %l
}

; What cannot be known.
define void @others(ptr addrspace(10) %o) {
  %a = call ptr addrspace(10) @tenon.gc_alloc_obj(ptr null, i64 24, ptr addrspace(10) addrspacecast (ptr @custom to ptr addrspace(10)))
  store ptr addrspace(10) %o, ptr addrspace(10) %a
  %b = call ptr addrspace(10) @tenon.gc_alloc_obj(ptr null, i64 24, ptr addrspace(10) addrspacecast (ptr @unknown to ptr addrspace(10)))
  store ptr addrspace(10) %o, ptr addrspace(10) %b
  %c = call ptr addrspace(10) @tenon.gc_alloc_obj(ptr null, i64 24, ptr addrspace(10) addrspacecast (ptr @small to ptr addrspace(10)))
  store ptr addrspace(10) %o, ptr addrspace(10) %c
  ret void
}
