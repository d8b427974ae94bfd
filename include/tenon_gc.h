/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The runtime ABI of managed code: everything that compiled code knows about the collector and vice versa. The compiler
 * (src/codegen/managed) and the runtime (src/gc) share this file and nothing else; doc/GC.md explains it. Programs need
 * it only if they are part of that machinery; host programs use tenon_heap.h. Assembly includes it for the constants.
 * A change of any number here must change TN_GC_ABI, which compiled modules contain (section "tenon_abi") and the
 * runtime checks. */

#ifndef TENON_GC_H
#define TENON_GC_H

#define TN_GC_ABI 4

/* ---- objects ---- */

/* A reference is the address of an object's first payload byte, a multiple of 8. The word before it is the header: the
 * address of the type's descriptor, a multiple of 16, and four bits for the collector. */
#define TN_GC_HEADER_SIZE 8
#define TN_GC_TYPE_MASK   (~15ull)

#define TN_GC_FORWARDED   1 /* the rest of the header is the object's new address; only while the world is stopped */
#define TN_GC_PERMANENT   1 /* the same bit of an object outside the heap: the next store has to log it, of any value */
#define TN_GC_UNLOGGED    2 /* tested by the write barrier: the next store of a reference has to log this object */
#define TN_GC_HASHED      4 /* the identity hash, which is the address, has been asked for */
#define TN_GC_HASH_STORED 8 /* the object has moved since: the hash is stored in a word after the payload */

/* Largest payload that compiled code allocates inline; larger objects are allocated by tn__gc_allocate. */
#define TN_GC_LARGEST_INLINE 8192

/* ---- the thread's block: offsets for compiled code and assembly ---- */

#define TN_GC_BLOCK_BUMP       0
#define TN_GC_BLOCK_LIMIT      8
#define TN_GC_BLOCK_POLL       16
#define TN_GC_BLOCK_FENCES     20
#define TN_GC_BLOCK_TOP        24
#define TN_GC_BLOCK_PGCSTACK   32
#define TN_GC_BLOCK_MEMORY     40
#define TN_GC_BLOCK_YOUNG      48
#define TN_GC_BLOCK_YOUNG_SIZE 56
#define TN_GC_BLOCK_RUNTIME    64 /* from here on private to the runtime */

/* ---- anchors ---- */

#define TN_GC_ANCHOR_SP   0
#define TN_GC_ANCHOR_FP   8
#define TN_GC_ANCHOR_RA   16
#define TN_GC_ANCHOR_SIZE 24

/* The lowest bits of an anchor's sp. */
#define TN_GC_OUTSIDE 1 /* while the anchor is on top, collections do not wait for the thread */
#define TN_GC_FENCED  2 /* and coming back, the thread executes a full fence before it reads `poll` */
#define TN_GC_STATE   7 /* these bits, and one that is free */

/* ---- stack maps: sections "tenon_maps" ----
 *
 * One for each section of code, aligned to 2. Numbers are little-endian; functions follow each other without padding.
 * Slots are signed distances from the frame pointer, in words of 8 bytes. Each function has one PC-relative relocation,
 * to a local symbol: a weak function's own may be bound to another module's definition. There are no others. */

/* Function: i32 code, its start relative to this field; u32 counts; i16 roots[], the slots that hold references at
 * every safepoint, or null: variables in stack memory; then its safepoints, by ascending return address. */
#define TN_GC_MAP_SAFEPOINTS(counts) ((counts)&0xfffff)
#define TN_GC_MAP_ROOTS(counts)      ((counts) >> 20 & 0x7ff)
#define TN_GC_MAP_WIDE               0x80000000u
#define TN_GC_MAP_MAX_SAFEPOINTS     0xfffff
#define TN_GC_MAP_MAX_ROOTS          0x7ff

/* Safepoint: u32 return address relative to the function, and flags; u8 bases, u8 derived, i16 base[], slots with
 * references; {i16 slot, u16 base} derived[], slots with pointers into the object of base[base]; u16 pinned, i16
 * pinned[] if the flag says so: slots with references to objects that must not move now, or null. A slot is there once
 * at most. In a wide function, whose frames or counts need larger numbers, slots are i32 (roots too), derived entries
 * {i32, u32}, and the three counts u16. */
#define TN_GC_MAP_OFFSET 0x3fffffffu
#define TN_GC_MAP_ENTRY  0x80000000u /* the caller is unmanaged: continue at the next anchor */
#define TN_GC_MAP_PINNED 0x40000000u

/* ---- globals that hold references: sections "tenon_roots" ---- */

#define TN_GC_ROOT_RANGE_SIZE 8 /* struct tn_gc_root_range; aligned to 4 */

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where managed code called unmanaged code: the collector walks the stack from here along frame pointers. */
struct tn_gc_anchor {
    uintptr_t sp; /* at the call, plus TN_GC_STATE; on x86-64 [sp] is the return address; 0: no call out of it */
    uintptr_t fp; /* frame pointer of the managed caller */
    uintptr_t ra; /* the return address; 0: it is at [sp] */
};

/* One per thread, in thread-local storage. Its first cache line is all that compiled code touches. */
struct tn_gc_block {
    char *bump;      /* where the next object's header will be; plain accesses */
    char *limit;     /* end of that space; 0 while a stop is requested; written atomically by other threads, and loaded
                      * relaxed */
    uint32_t poll;   /* not 0 while a stop is requested; written and loaded like `limit` */
    uint32_t fences; /* not 0: after a change of `top`, a full fence comes before `poll` is read; written like `limit`.
                      * Entries load it with `poll`, as one word of 64 bits */
    struct tn_gc_anchor *top; /* of the innermost level, see tn__gc_enter; stored with release order by entries */
    void *pgcstack;           /* get_pgcstack of the IR contract returns the address of this word */
    uint64_t memory;          /* for tn__gc_call_outside_memory: bytes of arguments in memory, a multiple of 8 */
    /* A value is young if its address ^ `young` is less than `young_size`: where objects are allocated, if that is a
     * power of two and `young` a multiple of it; nothing (0), or every value (young = 0 and the largest size). They
     * change only while the thread has stopped. */
    uintptr_t young;
    uint64_t young_size;
    void *runtime[2];
};

/* A run of references in a global: its address relative to this field, and the number of words. */
struct tn_gc_root_range {
    int32_t words;
    uint32_t count;
};

struct tn_type; /* a type's descriptor: its address is all that compiled code needs */

/* ---- what the runtime provides; hidden: one program, one collector ---- */

#pragma GCC visibility push(hidden)

/* Accessed by compiled code with the initial-exec model. `top` initially points to an anchor in a static array that
 * makes the first entry of a thread call tn__gc_enter. */
extern __thread struct tn_gc_block tn__gc_block __attribute__((tls_model("initial-exec"), aligned(64)));

/* The slow path of allocation, also for payloads that are large or of unknown size. Returns a new object with its
 * header set and its references null, never NULL: if memory is out, it leaves through the heap's out_of_memory. A
 * safepoint: called through tn__gc_call_native. */
void *tn__gc_allocate(size_t payload, const struct tn_type *type);

/* Waits while the world is stopped. A safepoint: called through tn__gc_call_native when `poll` is not 0. */
void tn__gc_poll(void);

/* Called before the store of a reference into an object whose header has TN_GC_UNLOGGED, if it has TN_GC_PERMANENT too,
 * or the value is young (see tn_gc_block) or not known. `slot` is the word of the object that is stored to, `value`
 * what is stored there: the collector remembers the word, and may verify that the object's type lists it. If `slot` is
 * NULL, it remembers the object and clears the bit; `value` is NULL if several values are stored. Not a safepoint.
 * Calling convention: LLVM's preserve_most. It may change r11 (AArch64: x0-x8, x16-x18; RISC-V: t1-t3), the flags and
 * the vector registers, and preserves all other registers: on x86-64 those of its arguments and rax too. */
void tn__gc_log(void *object, void *slot, void *value);

/* memmove into or out of managed memory: with the barrier of the object that contains `to` (`parent`; NULL: none),
 * copies whole words if both addresses are aligned to 8. Not a safepoint. */
void tn__gc_move(void *parent, void *to, const void *from, size_t size);

/* The slow path of entering managed code: attaches the thread if necessary, drops levels whose frames were left by
 * longjmp or a throw, makes a new level the top, waits while the world is stopped, and returns the anchor of the
 * calling level (doc/GC.md). `fp` is the entry's frame pointer. */
struct tn_gc_anchor *tn__gc_enter(uintptr_t fp);

/* In assembly. Fills in block->top (sp, fp, ra = 0) and jumps to the function in the register for `nest` arguments
 * (r10; AArch64: x15, with x30 stored to ra); the arguments are already in place and are preserved. Under
 * TN_HEAP_STRESS it calls the function instead, with a copy of the arguments in memory, and collects afterwards. */
void tn__gc_call_native(void);

/* The same for functions that may return twice. tn__gc_return_twice is called after their returns, and after second
 * returns of setjmp, because a longjmp may come from outside managed code. A safepoint; it needs no anchor. */
void tn__gc_call_twice(void);
void tn__gc_return_twice(void);

/* The same for a transition: during the call the thread is outside managed code, except while managed code that the
 * function calls is running, and the call returns only while the world is running. Calls the function, from a frame of
 * its own. The second one also copies the arguments in memory: the caller has stored their size in block->memory. */
void tn__gc_call_outside(void);
void tn__gc_call_outside_memory(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif /* !__ASSEMBLER__ */
#endif
