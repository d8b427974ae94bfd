/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The runtime ABI of managed code: what compiled code knows of the collector and the collector of compiled code. The compiler
 * (src/codegen/gc) and the runtime (src/gc) agree on this file and on nothing else; doc/GC.md explains it. Programs need it
 * only where they are a part of that machinery: hosts use the API of tenon.h.
 * Assembly includes it for the constants. Whoever changes a number here changes TN_GC_ABI. */

#ifndef TENON_GC_H
#define TENON_GC_H

#define TN_GC_ABI 1

/* ---- objects ---- */

/* A reference is the address of an object's first payload byte, a multiple of 8. The word before it is the header: the
 * address of the type's descriptor, a multiple of 16, and four bits of the collector's. */
#define TN_GC_HEADER_SIZE 8
#define TN_GC_TYPE_MASK   (~15ull)

#define TN_GC_FORWARDED   1 /* the rest of the header is where the object went; only while the world is stopped */
#define TN_GC_UNLOGGED    2 /* the barrier's test: the first store of a reference has to log this object */
#define TN_GC_HASHED      4 /* the identity hash, which is the address, was taken */
#define TN_GC_HASH_STORED 8 /* the object was moved since: the hash is in a word behind the payload */

/* Largest payload that compiled code allocates by itself; what is larger goes to tn__gc_allocate. */
#define TN_GC_LARGEST_INLINE 8192

/* ---- the thread's block: offsets for compiled code and assembly ---- */

#define TN_GC_BLOCK_BUMP     0
#define TN_GC_BLOCK_LIMIT    8
#define TN_GC_BLOCK_POLL     16
#define TN_GC_BLOCK_TOP      24
#define TN_GC_BLOCK_PGCSTACK 32
#define TN_GC_BLOCK_RUNTIME  40 /* from here on it is the runtime's alone */

/* ---- anchors ---- */

#define TN_GC_ANCHOR_SP   0
#define TN_GC_ANCHOR_FP   8
#define TN_GC_ANCHOR_RA   16
#define TN_GC_ANCHOR_SIZE 24

#define TN_GC_BARRIER (~0ull) /* an anchor's sp: while it is the top one, no collection waits for the thread */

/* ---- stack maps: sections "tenon_maps" ---- */

/* Function: i32 code, relative to itself; u32 counts; i16 or, in a wide function, i32 roots[]; then its safepoints. */
#define TN_GC_MAP_SAFEPOINTS(counts) ((counts)&0xfffff)
#define TN_GC_MAP_ROOTS(counts)      ((counts) >> 20 & 0x7ff)
#define TN_GC_MAP_WIDE               0x80000000u
#define TN_GC_MAP_MAX_SAFEPOINTS     0xfffff
#define TN_GC_MAP_MAX_ROOTS          0x7ff

/* Safepoint: u32 return address relative to the function, and flags; u8 bases, u8 derived, i16 base[], {i16 slot, u16 base}
 * derived[]; u16 pinned, i16 pinned[] if the flag says so. In a wide function u16 bases, u16 derived and i32, u32 throughout. */
#define TN_GC_MAP_OFFSET 0x3fffffffu
#define TN_GC_MAP_ENTRY  0x80000000u /* the caller is not managed: go on at the next anchor */
#define TN_GC_MAP_PINNED 0x40000000u

/* ---- globals that hold references: sections "tenon_roots" ---- */

#define TN_GC_ROOT_RANGE_SIZE 8 /* struct tn_gc_root_range */

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where managed code called out: the collector walks from here along frame pointers. */
struct tn_gc_anchor {
    uintptr_t
        sp; /* at the call, so that [sp] is the return address on x86-64; 0: nothing has called out from this level;
               TN_GC_BARRIER */
    uintptr_t fp; /* of the managed frame that called */
    uintptr_t ra; /* the return address; 0: it lies at [sp] */
};

/* One per thread, in thread-local storage. Its first cache line is all that compiled code touches. */
struct tn_gc_block {
    char *bump;    /* where the next object's header goes */
    char *limit;   /* end of that space; 0 while a stop is requested: other threads write it, atomically */
    uint32_t poll; /* not 0 while a stop is requested; written like `limit` */
    uint32_t unused;
    struct tn_gc_anchor *top; /* of the innermost level, see tn__gc_enter */
    void *pgcstack;           /* the contract's get_pgcstack answers the address of this word */
    void *runtime[3];
};

/* A run of references in a global: their address relative to this field, and how many words there are. */
struct tn_gc_root_range {
    int32_t words;
    uint32_t count;
};

struct tn_type; /* a type's descriptor: its address is all that compiled code needs */

/* ---- what the runtime provides; hidden: one program, one collector ---- */

#pragma GCC visibility push(hidden)

/* Compiled code reaches it by initial-exec thread-local access. `top` begins as an anchor of a static array that makes
 * the first entry of a thread call tn__gc_enter. */
extern __thread struct tn_gc_block tn__gc_block __attribute__((tls_model("initial-exec"), aligned(64)));

/* The slow side of allocation, also for payloads that are large or of unknown size: answers a new object with its header set
 * and its references null. Never NULL: when memory is out it leaves through the heap's handler. A safepoint: called through
 * tn__gc_call_native. */
void *tn__gc_allocate(size_t payload, const struct tn_type *type);

/* Waits while the world is stopped. A safepoint: called through tn__gc_call_native when `poll` is not 0. */
void tn__gc_poll(void);

/* Called before the first store of a reference into an object whose header has TN_GC_UNLOGGED: takes the bit away and
 * remembers the object. Not a safepoint. Convention: LLVM's preserve_most, so it keeps every general register but the
 * argument's, rax and r11 (x86-64; AArch64: x0-x8, x16-x18). */
void tn__gc_log(void *object);

/* memmove into or out of managed memory: logs the object that `to` lies in (`parent`; NULL: none), then copies whole words where
 * both addresses are aligned to 8. Not a safepoint. */
void tn__gc_move(void *parent, void *to, const void *from, size_t size);

/* The slow side of entering managed code: attaches the thread if need be, drops levels whose frames were left by longjmp or a
 * throw, and answers the anchor of the level that called, as doc/GC.md says. `fp` is the entry's frame. */
struct tn_gc_anchor *tn__gc_enter(uintptr_t fp);

/* In assembly. Fills in block->top (sp, fp, ra = 0) and jumps to the function in the register of `nest` arguments (r10; AArch64
 * x15, and x30 goes to ra), whose other arguments are where its convention wants them. The registers of arguments are kept.
 * Under TN_HEAP_STRESS it calls the function instead, with a copy of the arguments in memory, and collects afterwards. */
void tn__gc_call_native(void);

/* The same for functions that may return twice, as setjmp does. */
void tn__gc_call_twice(void);

/* The same for a call that may block: a barrier is the top anchor meanwhile, but while managed code that it calls runs; and it
 * returns only while the world runs. It must not be left by longjmp or a throw. */
void tn__gc_call_blocking(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif /* !__ASSEMBLER__ */
#endif
