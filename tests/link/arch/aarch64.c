/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Every row of AArch64's ELF relocations: what it stores for values of each kind, the last ones that fit and the first
 * that do not, and that all other bits stay. The rows here repeat AAELF64, not the table that they test; words of
 * instructions are llvm-mc's encodings. Linked for another address space, so that all addresses are known. */

#include "elf_builder.h"

#include <stdlib.h>

#include "link/arch/reloc.h"
#include "link/file/detached.h"

enum { FIELD = 8, SECTION = 64, ABSOLUTE = 0x50, WINDOW = 0x20000000 };

enum field {
    WORD64, /* whole bytes: stored as they are */
    WORD32,
    SIGNED32,
    WORD16,
    ADR,
    ADRP,
    LO12,
    HI12,
    LO12_2,
    LO12_4,
    LO12_8,
    LO12_16,
    LO15_8,
    MOVW_G0,
    MOVW_G1,
    MOVW_G2,
    MOVW_G3,
    MOVS_G0,
    MOVS_G1,
    MOVS_G2,
    BRANCH14,
    BRANCH19,
    BRANCH26,
};

/* By field: what values are multiples of, and the first bit that a field has no room for. */
static const struct {
    int64_t unit;
    unsigned end, bytes;
} fields[] = {
    [WORD64] = {1, 64, 8},   [WORD32] = {1, 32, 4},   [SIGNED32] = {1, 32, 4}, [WORD16] = {1, 16, 2},
    [ADR] = {1, 21, 4},      [ADRP] = {4096, 33, 4},  [LO12] = {1, 12, 4},     [HI12] = {1, 24, 4},
    [LO12_2] = {2, 12, 4},   [LO12_4] = {4, 12, 4},   [LO12_8] = {8, 12, 4},   [LO12_16] = {16, 12, 4},
    [LO15_8] = {8, 15, 4},   [MOVW_G0] = {1, 16, 4},  [MOVW_G1] = {1, 32, 4},  [MOVW_G2] = {1, 48, 4},
    [MOVW_G3] = {1, 64, 4},  [MOVS_G0] = {1, 17, 4},  [MOVS_G1] = {1, 33, 4},  [MOVS_G2] = {1, 49, 4},
    [BRANCH14] = {4, 16, 4}, [BRANCH19] = {4, 21, 4}, [BRANCH26] = {4, 28, 4},
};

/* The first one of each field is what the instruction holds before; the least and the greatest value are the last ones
 * that fit. */
static const struct sample {
    enum field field;
    int64_t value;
    uint64_t word;
} samples[] = {
    {WORD64, 0, 0},
    {WORD64, INT64_MIN, 1ULL << 63},
    {WORD64, INT64_MAX, INT64_MAX},
    {WORD32, 0, 0},
    {WORD32, INT32_MIN, 1U << 31},
    {WORD32, UINT32_MAX, UINT32_MAX},
    {SIGNED32, 0, 0},
    {SIGNED32, INT32_MIN, 1U << 31},
    {SIGNED32, INT32_MAX, INT32_MAX},
    {WORD16, 0, 0},
    {WORD16, INT16_MIN, 1U << 15},
    {WORD16, UINT16_MAX, UINT16_MAX},
    {ADR, 0x0, 0x10000015},                             /* adr x21, #0 */
    {ADR, -0x100000, 0x10800015},                       /* adr x21, #-0x100000 */
    {ADR, 0xfffff, 0x707ffff5},                         /* adr x21, #0xfffff */
    {ADR, 0x12345, 0x30091a35},                         /* adr x21, #0x12345 */
    {ADRP, 0x0, 0x90000015},                            /* adrp x21, #0 */
    {ADRP, -0x100000000LL, 0x90800015},                 /* adrp x21, #-0x100000000 */
    {ADRP, 0xfffff000LL, 0xf07ffff5},                   /* adrp x21, #0xfffff000 */
    {ADRP, 0x12345000, 0xb0091a35},                     /* adrp x21, #0x12345000 */
    {LO12, 0x0, 0x91000155},                            /* add x21, x10, #0 */
    {LO12, 0xfff, 0x913ffd55},                          /* add x21, x10, #0xfff */
    {LO12, 0xabc, 0x912af155},                          /* add x21, x10, #0xabc */
    {HI12, 0x0, 0x91400155},                            /* add x21, x10, #0, lsl #12 */
    {HI12, 0xffffff, 0x917ffd55},                       /* add x21, x10, #0xfff, lsl #12 */
    {HI12, 0xabc123, 0x916af155},                       /* add x21, x10, #0xabc, lsl #12 */
    {LO12_2, 0x0, 0x79400155},                          /* ldrh w21, [x10] */
    {LO12_2, 0xffe, 0x795ffd55},                        /* ldrh w21, [x10, #0xffe] */
    {LO12_2, 0xabc, 0x79557955},                        /* ldrh w21, [x10, #0xabc] */
    {LO12_4, 0x0, 0xb9400155},                          /* ldr w21, [x10] */
    {LO12_4, 0xffc, 0xb94ffd55},                        /* ldr w21, [x10, #0xffc] */
    {LO12_4, 0xabc, 0xb94abd55},                        /* ldr w21, [x10, #0xabc] */
    {LO12_8, 0x0, 0xf9400155},                          /* ldr x21, [x10] */
    {LO12_8, 0xff8, 0xf947fd55},                        /* ldr x21, [x10, #0xff8] */
    {LO12_8, 0xab8, 0xf9455d55},                        /* ldr x21, [x10, #0xab8] */
    {LO12_16, 0x0, 0x3dc00155},                         /* ldr q21, [x10] */
    {LO12_16, 0xff0, 0x3dc3fd55},                       /* ldr q21, [x10, #0xff0] */
    {LO12_16, 0xab0, 0x3dc2ad55},                       /* ldr q21, [x10, #0xab0] */
    {LO15_8, 0x0, 0xf9400155},                          /* ldr x21, [x10] */
    {LO15_8, 0x7ff8, 0xf97ffd55},                       /* ldr x21, [x10, #0x7ff8] */
    {LO15_8, 0x5ab8, 0xf96d5d55},                       /* ldr x21, [x10, #0x5ab8] */
    {MOVW_G0, 0x0, 0xf2800015},                         /* movk x21, #0 */
    {MOVW_G0, 0xffff, 0xf29ffff5},                      /* movk x21, #0xffff */
    {MOVW_G0, 0xabcd, 0xf29579b5},                      /* movk x21, #0xabcd */
    {MOVW_G1, 0x0, 0xf2a00015},                         /* movk x21, #0, lsl #16 */
    {MOVW_G1, 0xffffffffLL, 0xf2bffff5},                /* movk x21, #0xffff, lsl #16 */
    {MOVW_G1, 0xabcd0000LL, 0xf2b579b5},                /* movk x21, #0xabcd, lsl #16 */
    {MOVW_G2, 0x0, 0xf2c00015},                         /* movk x21, #0, lsl #32 */
    {MOVW_G2, 0xffffffffffffLL, 0xf2dffff5},            /* movk x21, #0xffff, lsl #32 */
    {MOVW_G2, 0xabcd00000000LL, 0xf2d579b5},            /* movk x21, #0xabcd, lsl #32 */
    {MOVW_G3, 0x0, 0xf2e00015},                         /* movk x21, #0, lsl #48 */
    {MOVW_G3, -0x1, 0xf2fffff5},                        /* movk x21, #0xffff, lsl #48 */
    {MOVW_G3, (int64_t)0xabcd000000000000, 0xf2f579b5}, /* movk x21, #0xabcd, lsl #48 */
    {MOVS_G0, 0x0, 0xd2800015},                         /* movz x21, #0 */
    {MOVS_G0, 0xffff, 0xd29ffff5},                      /* movz x21, #0xffff */
    {MOVS_G0, 0xabcd, 0xd29579b5},                      /* movz x21, #0xabcd */
    {MOVS_G0, -0x10000, 0x929ffff5},                    /* movn x21, #0xffff */
    {MOVS_G0, -0x5433, 0x928a8655},                     /* movn x21, #0x5432 */
    {MOVS_G0, -0x1, 0x92800015},                        /* movn x21, #0 */
    {MOVS_G1, 0x0, 0xd2a00015},                         /* movz x21, #0, lsl #16 */
    {MOVS_G1, 0xffffffffLL, 0xd2bffff5},                /* movz x21, #0xffff, lsl #16 */
    {MOVS_G1, 0xabcd0000LL, 0xd2b579b5},                /* movz x21, #0xabcd, lsl #16 */
    {MOVS_G1, -0x100000000LL, 0x92bffff5},              /* movn x21, #0xffff, lsl #16 */
    {MOVS_G1, -0x54330000, 0x92aa8655},                 /* movn x21, #0x5432, lsl #16 */
    {MOVS_G1, -0x1, 0x92a00015},                        /* movn x21, #0, lsl #16 */
    {MOVS_G2, 0x0, 0xd2c00015},                         /* movz x21, #0, lsl #32 */
    {MOVS_G2, 0xffffffffffffLL, 0xd2dffff5},            /* movz x21, #0xffff, lsl #32 */
    {MOVS_G2, 0xabcd00000000LL, 0xd2d579b5},            /* movz x21, #0xabcd, lsl #32 */
    {MOVS_G2, -0x1000000000000LL, 0x92dffff5},          /* movn x21, #0xffff, lsl #32 */
    {MOVS_G2, -0x543300000000LL, 0x92ca8655},           /* movn x21, #0x5432, lsl #32 */
    {MOVS_G2, -0x1, 0x92c00015},                        /* movn x21, #0, lsl #32 */
    {BRANCH14, 0x0, 0xb6080015},                        /* tbz x21, #33, #0 */
    {BRANCH14, -0x8000, 0xb60c0015},                    /* tbz x21, #33, #-0x8000 */
    {BRANCH14, 0x7ffc, 0xb60bfff5},                     /* tbz x21, #33, #0x7ffc */
    {BRANCH14, 0x1234, 0xb60891b5},                     /* tbz x21, #33, #0x1234 */
    {BRANCH19, 0x0, 0xb5000015},                        /* cbnz x21, #0 */
    {BRANCH19, -0x100000, 0xb5800015},                  /* cbnz x21, #-0x100000 */
    {BRANCH19, 0xffffc, 0xb57ffff5},                    /* cbnz x21, #0xffffc */
    {BRANCH19, 0x12344, 0xb5091a35},                    /* cbnz x21, #0x12344 */
    {BRANCH26, 0x0, 0x94000000},                        /* bl #0 */
    {BRANCH26, -0x8000000, 0x96000000},                 /* bl #-0x8000000 */
    {BRANCH26, 0x7fffffc, 0x95ffffff},                  /* bl #0x7fffffc */
    {BRANCH26, 0x1234568, 0x9448d15a},                  /* bl #0x1234568 */
};

enum formula { S_A, S_A_P, PAGE_S_A_P, G_A, G_A_P, G_A_GOT, PAGE_G_A_P, G_A_PAGE_GOT, S_A_GOT };

static const struct row {
    const char *name;
    uint32_t type;
    enum formula formula;
    enum field field;
    bool checked;
} rows[] = {
    {"R_AARCH64_ABS64", 257, S_A, WORD64},
    {"R_AARCH64_ABS32", 258, S_A, WORD32, true},
    {"R_AARCH64_ABS16", 259, S_A, WORD16, true},
    {"R_AARCH64_PREL64", 260, S_A_P, WORD64},
    {"R_AARCH64_PREL32", 261, S_A_P, WORD32, true},
    {"R_AARCH64_PREL16", 262, S_A_P, WORD16, true},
    {"R_AARCH64_MOVW_UABS_G0", 263, S_A, MOVW_G0, true},
    {"R_AARCH64_MOVW_UABS_G0_NC", 264, S_A, MOVW_G0},
    {"R_AARCH64_MOVW_UABS_G1", 265, S_A, MOVW_G1, true},
    {"R_AARCH64_MOVW_UABS_G1_NC", 266, S_A, MOVW_G1},
    {"R_AARCH64_MOVW_UABS_G2", 267, S_A, MOVW_G2, true},
    {"R_AARCH64_MOVW_UABS_G2_NC", 268, S_A, MOVW_G2},
    {"R_AARCH64_MOVW_UABS_G3", 269, S_A, MOVW_G3},
    {"R_AARCH64_MOVW_SABS_G0", 270, S_A, MOVS_G0, true},
    {"R_AARCH64_MOVW_SABS_G1", 271, S_A, MOVS_G1, true},
    {"R_AARCH64_MOVW_SABS_G2", 272, S_A, MOVS_G2, true},
    {"R_AARCH64_LD_PREL_LO19", 273, S_A_P, BRANCH19, true},
    {"R_AARCH64_ADR_PREL_LO21", 274, S_A_P, ADR, true},
    {"R_AARCH64_ADR_PREL_PG_HI21", 275, PAGE_S_A_P, ADRP, true},
    {"R_AARCH64_ADR_PREL_PG_HI21_NC", 276, PAGE_S_A_P, ADRP},
    {"R_AARCH64_ADD_ABS_LO12_NC", 277, S_A, LO12},
    {"R_AARCH64_LDST8_ABS_LO12_NC", 278, S_A, LO12},
    {"R_AARCH64_TSTBR14", 279, S_A_P, BRANCH14, true},
    {"R_AARCH64_CONDBR19", 280, S_A_P, BRANCH19, true},
    {"R_AARCH64_JUMP26", 282, S_A_P, BRANCH26, true},
    {"R_AARCH64_CALL26", 283, S_A_P, BRANCH26, true},
    {"R_AARCH64_LDST16_ABS_LO12_NC", 284, S_A, LO12_2},
    {"R_AARCH64_LDST32_ABS_LO12_NC", 285, S_A, LO12_4},
    {"R_AARCH64_LDST64_ABS_LO12_NC", 286, S_A, LO12_8},
    {"R_AARCH64_MOVW_PREL_G0", 287, S_A_P, MOVS_G0, true},
    {"R_AARCH64_MOVW_PREL_G0_NC", 288, S_A_P, MOVW_G0},
    {"R_AARCH64_MOVW_PREL_G1", 289, S_A_P, MOVS_G1, true},
    {"R_AARCH64_MOVW_PREL_G1_NC", 290, S_A_P, MOVW_G1},
    {"R_AARCH64_MOVW_PREL_G2", 291, S_A_P, MOVS_G2, true},
    {"R_AARCH64_MOVW_PREL_G2_NC", 292, S_A_P, MOVW_G2},
    {"R_AARCH64_MOVW_PREL_G3", 293, S_A_P, MOVW_G3},
    {"R_AARCH64_LDST128_ABS_LO12_NC", 299, S_A, LO12_16},
    {"R_AARCH64_MOVW_GOTOFF_G0", 300, G_A_GOT, MOVS_G0, true},
    {"R_AARCH64_MOVW_GOTOFF_G0_NC", 301, G_A_GOT, MOVW_G0},
    {"R_AARCH64_MOVW_GOTOFF_G1", 302, G_A_GOT, MOVS_G1, true},
    {"R_AARCH64_MOVW_GOTOFF_G1_NC", 303, G_A_GOT, MOVW_G1},
    {"R_AARCH64_MOVW_GOTOFF_G2", 304, G_A_GOT, MOVS_G2, true},
    {"R_AARCH64_MOVW_GOTOFF_G2_NC", 305, G_A_GOT, MOVW_G2},
    {"R_AARCH64_MOVW_GOTOFF_G3", 306, G_A_GOT, MOVW_G3},
    {"R_AARCH64_GOTREL64", 307, S_A_GOT, WORD64},
    {"R_AARCH64_GOTREL32", 308, S_A_GOT, SIGNED32, true},
    {"R_AARCH64_GOT_LD_PREL19", 309, G_A_P, BRANCH19, true},
    {"R_AARCH64_LD64_GOTOFF_LO15", 310, G_A_GOT, LO15_8, true},
    {"R_AARCH64_ADR_GOT_PAGE", 311, PAGE_G_A_P, ADRP, true},
    {"R_AARCH64_LD64_GOT_LO12_NC", 312, G_A, LO12_8},
    {"R_AARCH64_LD64_GOTPAGE_LO15", 313, G_A_PAGE_GOT, LO15_8, true},
    {"R_AARCH64_PLT32", 314, S_A_P, SIGNED32, true},
    {"R_AARCH64_GOTPCREL32", 315, G_A_P, SIGNED32, true},
    {"R_AARCH64_TLSGD_ADR_PREL21", 512, G_A_P, ADR, true},
    {"R_AARCH64_TLSGD_ADR_PAGE21", 513, PAGE_G_A_P, ADRP, true},
    {"R_AARCH64_TLSGD_ADD_LO12_NC", 514, G_A, LO12},
    {"R_AARCH64_TLSGD_MOVW_G1", 515, G_A_GOT, MOVS_G1, true},
    {"R_AARCH64_TLSGD_MOVW_G0_NC", 516, G_A_GOT, MOVW_G0},
    {"R_AARCH64_TLSLD_ADR_PREL21", 517, G_A_P, ADR, true},
    {"R_AARCH64_TLSLD_ADR_PAGE21", 518, PAGE_G_A_P, ADRP, true},
    {"R_AARCH64_TLSLD_ADD_LO12_NC", 519, G_A, LO12},
    {"R_AARCH64_TLSLD_MOVW_G1", 520, G_A_GOT, MOVS_G1, true},
    {"R_AARCH64_TLSLD_MOVW_G0_NC", 521, G_A_GOT, MOVW_G0},
    {"R_AARCH64_TLSLD_LD_PREL19", 522, G_A_P, BRANCH19, true},
    {"R_AARCH64_TLSLD_MOVW_DTPREL_G2", 523, S_A, MOVS_G2, true},
    {"R_AARCH64_TLSLD_MOVW_DTPREL_G1", 524, S_A, MOVS_G1, true},
    {"R_AARCH64_TLSLD_MOVW_DTPREL_G1_NC", 525, S_A, MOVW_G1},
    {"R_AARCH64_TLSLD_MOVW_DTPREL_G0", 526, S_A, MOVS_G0, true},
    {"R_AARCH64_TLSLD_MOVW_DTPREL_G0_NC", 527, S_A, MOVW_G0},
    {"R_AARCH64_TLSLD_ADD_DTPREL_HI12", 528, S_A, HI12, true},
    {"R_AARCH64_TLSLD_ADD_DTPREL_LO12", 529, S_A, LO12, true},
    {"R_AARCH64_TLSLD_ADD_DTPREL_LO12_NC", 530, S_A, LO12},
    {"R_AARCH64_TLSLD_LDST8_DTPREL_LO12", 531, S_A, LO12, true},
    {"R_AARCH64_TLSLD_LDST8_DTPREL_LO12_NC", 532, S_A, LO12},
    {"R_AARCH64_TLSLD_LDST16_DTPREL_LO12", 533, S_A, LO12_2, true},
    {"R_AARCH64_TLSLD_LDST16_DTPREL_LO12_NC", 534, S_A, LO12_2},
    {"R_AARCH64_TLSLD_LDST32_DTPREL_LO12", 535, S_A, LO12_4, true},
    {"R_AARCH64_TLSLD_LDST32_DTPREL_LO12_NC", 536, S_A, LO12_4},
    {"R_AARCH64_TLSLD_LDST64_DTPREL_LO12", 537, S_A, LO12_8, true},
    {"R_AARCH64_TLSLD_LDST64_DTPREL_LO12_NC", 538, S_A, LO12_8},
    {"R_AARCH64_TLSIE_MOVW_GOTTPREL_G1", 539, G_A_GOT, MOVS_G1, true},
    {"R_AARCH64_TLSIE_MOVW_GOTTPREL_G0_NC", 540, G_A_GOT, MOVW_G0},
    {"R_AARCH64_TLSIE_ADR_GOTTPREL_PAGE21", 541, PAGE_G_A_P, ADRP, true},
    {"R_AARCH64_TLSIE_LD64_GOTTPREL_LO12_NC", 542, G_A, LO12_8},
    {"R_AARCH64_TLSIE_LD_GOTTPREL_PREL19", 543, G_A_P, BRANCH19, true},
    {"R_AARCH64_TLSLE_MOVW_TPREL_G2", 544, S_A, MOVS_G2, true},
    {"R_AARCH64_TLSLE_MOVW_TPREL_G1", 545, S_A, MOVS_G1, true},
    {"R_AARCH64_TLSLE_MOVW_TPREL_G1_NC", 546, S_A, MOVW_G1},
    {"R_AARCH64_TLSLE_MOVW_TPREL_G0", 547, S_A, MOVS_G0, true},
    {"R_AARCH64_TLSLE_MOVW_TPREL_G0_NC", 548, S_A, MOVW_G0},
    {"R_AARCH64_TLSLE_ADD_TPREL_HI12", 549, S_A, HI12, true},
    {"R_AARCH64_TLSLE_ADD_TPREL_LO12", 550, S_A, LO12, true},
    {"R_AARCH64_TLSLE_ADD_TPREL_LO12_NC", 551, S_A, LO12},
    {"R_AARCH64_TLSLE_LDST8_TPREL_LO12", 552, S_A, LO12, true},
    {"R_AARCH64_TLSLE_LDST8_TPREL_LO12_NC", 553, S_A, LO12},
    {"R_AARCH64_TLSLE_LDST16_TPREL_LO12", 554, S_A, LO12_2, true},
    {"R_AARCH64_TLSLE_LDST16_TPREL_LO12_NC", 555, S_A, LO12_2},
    {"R_AARCH64_TLSLE_LDST32_TPREL_LO12", 556, S_A, LO12_4, true},
    {"R_AARCH64_TLSLE_LDST32_TPREL_LO12_NC", 557, S_A, LO12_4},
    {"R_AARCH64_TLSLE_LDST64_TPREL_LO12", 558, S_A, LO12_8, true},
    {"R_AARCH64_TLSLE_LDST64_TPREL_LO12_NC", 559, S_A, LO12_8},
    {"R_AARCH64_TLSDESC_LD_PREL19", 560, G_A_P, BRANCH19, true},
    {"R_AARCH64_TLSDESC_ADR_PREL21", 561, G_A_P, ADR, true},
    {"R_AARCH64_TLSDESC_ADR_PAGE21", 562, PAGE_G_A_P, ADRP, true},
    {"R_AARCH64_TLSDESC_LD64_LO12", 563, G_A, LO12_8},
    {"R_AARCH64_TLSDESC_ADD_LO12", 564, G_A, LO12},
    {"R_AARCH64_TLSDESC_OFF_G1", 565, G_A_GOT, MOVS_G1, true},
    {"R_AARCH64_TLSDESC_OFF_G0_NC", 566, G_A_GOT, MOVW_G0},
    {"R_AARCH64_TLSLE_LDST128_TPREL_LO12", 570, S_A, LO12_16, true},
    {"R_AARCH64_TLSLE_LDST128_TPREL_LO12_NC", 571, S_A, LO12_16},
    {"R_AARCH64_TLSLD_LDST128_DTPREL_LO12", 572, S_A, LO12_16, true},
    {"R_AARCH64_TLSLD_LDST128_DTPREL_LO12_NC", 573, S_A, LO12_16},
};

/* ---- one object with one relocation ---- */

static struct {
    uint64_t S, P, G, got;
    uint8_t section[SECTION];
    enum tn__slot slot;
} linked;

static const struct tn_session_options options = {
    .size = sizeof options, .formats = (const struct tn_format *const[]){&tn_format_elf_aarch64, NULL}};

/* As in a file to be loaded: the code may not assume where thread-local data will be, so nothing is rewritten. */
static int arrange(struct tn__link *link)
{
    link->objects[0]->plan->tls_apart = true;
    return 0;
}

static int finish(struct tn__link *link)
{
    const struct tn__object *object = link->objects[0];
    const struct tn__plan *plan = object->plan;
    const struct tn__input_section *section = &object->data->sections[1];
    memcpy(linked.section, section->write, SECTION);
    linked.P = section->address + FIELD;
    linked.S = plan->addresses[1];
    linked.got = plan->got_address;
    linked.slot = TN__SLOT_NONE;
    for (enum tn__slot kind = TN__SLOT_ADDRESS; kind < TN__SLOTS; kind++)
        if (plan->slots[kind] && plan->slots[kind][1]) {
            linked.slot = kind;
            linked.G = tn__got_slot(object, kind, 1);
        }
    return 0;
}

static bool is_tls(const char *name)
{
    return strstr(name, "_TLS");
}

static struct bytes object_with(uint32_t type, const char *name, uint64_t before, uint64_t offset, int64_t addend)
{
    static uint8_t contents[SECTION];
    static struct elf elf;
    const struct row *row = NULL;
    for (size_t i = 0; i < COUNT(rows); i++)
        row = rows[i].type == type ? &rows[i] : row;
    memset(contents, 0xee, sizeof contents);
    if (row)
        memcpy(contents + FIELD, &before, fields[row->field].bytes);
    memset(&elf, 0, sizeof elf);
    unsigned section = elf_section(&elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, contents, SECTION);
    unsigned place = section, kind = STT_OBJECT;
    if (is_tls(name)) {
        place = elf_section(&elf, ".tdata", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_TLS, contents, SECTION);
        kind = STT_TLS;
    } else if (row && row->formula == S_A) {
        place = SHN_ABS;
    }
    unsigned target = elf_symbol(&elf, "target", STB_LOCAL, kind, place, place == SHN_ABS ? ABSOLUTE : 0, 8);
    elf_reloc(&elf, section, offset, target, type, addend);
    struct bytes file = elf_finish(&elf);
    elf_header(file)->e_machine = EM_AARCH64;
    return file;
}

static int link_object(struct bytes object, struct tn_error *err)
{
    struct tn__detached where = {
        .address = WINDOW, .size = 1 << 20, .page_size = 4096, .arrange = arrange, .finish = finish};
    const struct tn_input input = {.size = sizeof input, .name = "rows.o", .bytes = object.at, .length = object.size};
    struct tn_session *session;
    struct tn_library *library;
    assert_ok(tn__session_create_detached(&options, &where, &session, err), err);
    assert_ok(tn_library_create(session, "library", &library, err), err);
    int code = tn_add_object(library, &input, err);
    code = code ? code : tn_link(library, err);
    tn_session_destroy(session);
    free(object.at);
    return code;
}

static uint64_t page(uint64_t address)
{
    return address & -0x1000ULL;
}

/* The addend that makes the row's value this one. */
static int64_t addend_for(const struct row *row, int64_t value)
{
    static const uint64_t zero;
    const struct {
        const uint64_t *to, *from;
        bool page;
    } formulas[] = {
        [S_A] = {&linked.S, &zero},
        [S_A_P] = {&linked.S, &linked.P},
        [PAGE_S_A_P] = {&linked.S, &linked.P, true},
        [G_A] = {&linked.G, &zero},
        [G_A_P] = {&linked.G, &linked.P},
        [G_A_GOT] = {&linked.G, &linked.got},
        [PAGE_G_A_P] = {&linked.G, &linked.P, true},
        [G_A_PAGE_GOT] = {&linked.G, &linked.got, true},
        [S_A_GOT] = {&linked.S, &linked.got},
    };
    uint64_t from = *formulas[row->formula].from;
    return (int64_t)((uint64_t)value - *formulas[row->formula].to + (formulas[row->formula].page ? page(from) : from));
}

static enum tn__slot slot_of(const struct row *row)
{
    if (row->formula < G_A || row->formula == S_A_GOT)
        return TN__SLOT_NONE;
    return strstr(row->name, "TLSGD")     ? TN__SLOT_TLS_INDEX
           : strstr(row->name, "TLSLD")   ? TN__SLOT_TLS_BASE
           : strstr(row->name, "TLSDESC") ? TN__SLOT_TLS_DESC
                                          : TN__SLOT_ADDRESS;
}

static const struct sample *first_sample(enum field field)
{
    const struct sample *sample = samples;
    while (sample->field != field)
        sample++;
    return sample;
}

static void check_stores(const struct row *row, uint64_t before, int64_t value, uint64_t word)
{
    struct tn_error err;
    uint8_t wanted[SECTION];
    memset(wanted, 0xee, sizeof wanted);
    memcpy(wanted + FIELD, &word, fields[row->field].bytes);
    assert_ok(link_object(object_with(row->type, row->name, before, FIELD, addend_for(row, value)), &err), &err);
    if (memcmp(linked.section, wanted, SECTION))
        fail_msg("%s: %#llx gives %#x, not %#llx", row->name, (long long)value, tn__get32(linked.section + FIELD),
                 (long long)word);
}

static void check_refuses(const struct row *row, uint64_t before, int64_t value, const char *why)
{
    struct tn_error err;
    int code = link_object(object_with(row->type, row->name, before, FIELD, addend_for(row, value)), &err);
    assert_error(code, TN_ERANGE, &err, "rows.o(.text+0x8): ", row->name, " against 'target'", why);
}

static void values_and_limits(void **state)
{
    const struct row *row = *state;
    const struct sample *first = first_sample(row->field), *end = samples + COUNT(samples);
    int64_t least = 0, greatest = 0, unit = fields[row->field].unit;
    struct tn_error err;
    assert_ok(link_object(object_with(row->type, row->name, first->word, FIELD, 0), &err),
              &err); /* for the addresses */
    assert_int_equal(linked.slot, slot_of(row));
    for (const struct sample *sample = first; sample < end && sample->field == row->field; sample++) {
        least = sample->value < least ? sample->value : least;
        greatest = sample->value > greatest ? sample->value : greatest;
        check_stores(row, first->word, sample->value, sample->word);
        unsigned bits = fields[row->field].end;
        if (!row->checked && bits < 64)
            check_stores(row, first->word, (int64_t)((uint64_t)sample->value + (5ULL << bits)), sample->word);
    }
    if (row->checked) {
        check_refuses(row, first->word, least - unit, "is out of range");
        check_refuses(row, first->word, greatest + unit, "is out of range");
        check_refuses(row, first->word, INT64_MAX - 4095 + greatest % 4096, "is out of range");
    }
    if (unit > 1 && unit < 4096)
        check_refuses(row, first->word, unit / 2, "can only hold multiples of ");
}

/* movz and movn become each other; movk stays. */
static void signs(void **state)
{
    (void)state;
    static const uint32_t movn = 0x92800015, movk = 0xf2800015;
    const struct row g0 = {"R_AARCH64_MOVW_SABS_G0", 270, S_A, MOVS_G0, true};
    linked.S = ABSOLUTE;
    check_stores(&g0, movn, 0xabcd, 0xd29579b5);
    check_stores(&g0, movn, -0x5433, 0x928a8655);
    check_stores(&g0, movk, 0xabcd, 0xf29579b5);
    check_stores(&g0, movk, -0x5433, 0xf29579b5);
}

/* ---- the table ---- */

static bool is_tested(uint32_t type)
{
    static const uint32_t nothing[] = {0, 256, 567, 568, 569};
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].type == type)
            return !strcmp(rows[i].name, tn_format_elf_aarch64.rows[type].name);
    for (size_t i = 0; i < COUNT(nothing); i++)
        if (nothing[i] == type)
            return tn_format_elf_aarch64.rows[type].value == TN__V_NONE;
    return false;
}

static void every_row_is_tested_or_refused_by_name(void **state)
{
    (void)state;
    static const uint32_t unknown[] = {1, 281, 298, 316, 574, 1033, 0xffffffff};
    struct tn_error err;
    for (uint32_t type = 0; type < tn_format_elf_aarch64.row_count; type++) {
        const struct tn__row *row = &tn_format_elf_aarch64.rows[type];
        if (row->value == TN__V_UNSUPPORTED)
            assert_error(link_object(object_with(type, row->name, 0, FIELD, 0), &err), TN_ENOTSUP, &err, row->name);
        else if (row->value != TN__V_UNKNOWN && !is_tested(type))
            fail_msg("%s has no test", row->name);
    }
    for (size_t i = 0; i < COUNT(unknown); i++)
        assert_error(link_object(object_with(unknown[i], "", 0, FIELD, 0), &err), TN_EFORMAT, &err, "does not exist");
}

/* The last place in the section where the field fits, and the first where it does not. */
static void places(void **state)
{
    const struct row *row = *state;
    unsigned bytes = fields[row->field].bytes;
    const uint64_t outside[] = {SECTION - bytes + 1, SECTION, UINT64_MAX, UINT64_MAX - 7};
    uint64_t word = first_sample(row->field)->word;
    struct tn_error err;
    assert_ok(link_object(object_with(row->type, row->name, word, SECTION - bytes, 0), &err), &err);
    for (size_t i = 0; i < COUNT(outside); i++)
        assert_error(link_object(object_with(row->type, row->name, word, outside[i], 0), &err), TN_EFORMAT, &err,
                     row->name, "lies outside the section's 64 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_tested_or_refused_by_name),
        cmocka_unit_test(signs),
    };
    int failed = cmocka_run_group_tests_name("link/aarch64", tests, NULL, NULL);
    failed += RUN_ROWS("values and limits", rows, values_and_limits);
    return failed + RUN_ROWS("places", rows, places);
}
