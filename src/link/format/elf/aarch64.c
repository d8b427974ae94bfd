/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* ELF for AArch64: ELF for the Arm 64-bit Architecture (AAELF64), 2024Q3, section 5.7 (relocation types).
 *
 * An instruction has space for a part of an address: pairs of them make 33 bits (adrp with add or a load), groups of up
 * to four 64 bits (movz, movk). So the code of an object has to lie within 4 GiB of its data; calls reach 128 MiB and
 * may go through a stub. "_NC" means that the value is not checked: its other bits are in other instructions.
 *
 * DTPREL(S) is S here, a distance from the thread pointer, because the slots of TLSGD and TLSLD hold such ones. */

#include "link/arch/aarch64/aarch64.h"
#include "link/format/elf/reader.h"
#include "link/passes/steps.h"

#define ROW(no, name, value, field, size, bits, flags, slot, relax)                                                    \
    [no] = TN__ROW("R_AARCH64_" #name, TN__V_##value, field, size, bits, flags, TN__SLOT_##slot, relax)
#define D(no, name, value, field, bits, flags, slot)                                                                   \
    ROW(no, name, value, TN__F_##field, 1 << TN__F_##field, bits, flags, slot, 0)
#define I(no, name, value, field, bits, flags, slot) ROW(no, name, value, TN__AARCH64_##field, 4, bits, flags, slot, 0)
#define X(no, name, value, field, bits, flags, slot, form)                                                             \
    ROW(no, name, value, TN__AARCH64_##field, 4, bits, flags, slot, TN__AARCH64_##form)
#define N(no, name)       ROW(no, name, NONE, TN__F_LE8, 1, 0, 0, NONE, 0)
#define DYNAMIC(no, name) ROW(no, name, UNSUPPORTED, TN__F_LE64, 8, 64, 0, NONE, 0)

#define SIGNED   TN__R_SIGNED
#define UNSIGNED TN__R_UNSIGNED
#define STUB     TN__R_STUB
#define LOW      TN__R_LOW
#define TLS      TN__R_TLS
#define PROGRAM  TN__R_PROGRAM

/* no. name, value, field, bits, flags, GOT slot; D: in data, I: in an instruction,
 * X: that relax.c may rewrite */
static const struct tn__row rows[] = {
    N(0, NONE),
    N(256, NONE),

    /* data */
    D(257, ABS64, S_A, LE64, 64, 0, NONE),
    D(258, ABS32, S_A, LE32, 32, SIGNED | UNSIGNED | LOW, NONE),
    D(259, ABS16, S_A, LE16, 16, SIGNED | UNSIGNED | LOW, NONE),
    D(260, PREL64, S_A_P, LE64, 64, 0, NONE),
    D(261, PREL32, S_A_P, LE32, 32, SIGNED | UNSIGNED, NONE),
    D(262, PREL16, S_A_P, LE16, 16, SIGNED | UNSIGNED, NONE),

    /* groups of movz, movk, movn */
    I(263, MOVW_UABS_G0, S_A, MOVW_G0, 16, UNSIGNED | LOW, NONE),
    I(264, MOVW_UABS_G0_NC, S_A, MOVW_G0, 16, 0, NONE),
    I(265, MOVW_UABS_G1, S_A, MOVW_G1, 32, UNSIGNED | LOW, NONE),
    I(266, MOVW_UABS_G1_NC, S_A, MOVW_G1, 32, 0, NONE),
    I(267, MOVW_UABS_G2, S_A, MOVW_G2, 48, UNSIGNED, NONE),
    I(268, MOVW_UABS_G2_NC, S_A, MOVW_G2, 48, 0, NONE),
    I(269, MOVW_UABS_G3, S_A, MOVW_G3, 64, 0, NONE),
    I(270, MOVW_SABS_G0, S_A, MOVS_G0, 17, SIGNED | LOW, NONE),
    I(271, MOVW_SABS_G1, S_A, MOVS_G1, 33, SIGNED | LOW, NONE),
    I(272, MOVW_SABS_G2, S_A, MOVS_G2, 49, SIGNED, NONE),

    /* distances */
    I(273, LD_PREL_LO19, S_A_P, BRANCH19, 21, SIGNED, NONE),
    I(274, ADR_PREL_LO21, S_A_P, ADR, 21, SIGNED, NONE),
    X(275, ADR_PREL_PG_HI21, PAGE_S_A_P, ADRP, 33, SIGNED, NONE, PAGE),
    I(276, ADR_PREL_PG_HI21_NC, PAGE_S_A_P, ADRP, 33, 0, NONE),
    X(277, ADD_ABS_LO12_NC, S_A, LO12, 12, 0, NONE, LO12_ADD),
    I(278, LDST8_ABS_LO12_NC, S_A, LO12, 12, 0, NONE),
    I(279, TSTBR14, BRANCH, BRANCH14, 16, SIGNED, NONE),
    I(280, CONDBR19, BRANCH, BRANCH19, 21, SIGNED, NONE),
    I(282, JUMP26, BRANCH, BRANCH26, 28, SIGNED | STUB, NONE),
    I(283, CALL26, BRANCH, BRANCH26, 28, SIGNED | STUB, NONE),
    I(284, LDST16_ABS_LO12_NC, S_A, LO12_2, 12, 0, NONE),
    I(285, LDST32_ABS_LO12_NC, S_A, LO12_4, 12, 0, NONE),
    I(286, LDST64_ABS_LO12_NC, S_A, LO12_8, 12, 0, NONE),
    I(287, MOVW_PREL_G0, S_A_P, MOVS_G0, 17, SIGNED, NONE),
    I(288, MOVW_PREL_G0_NC, S_A_P, MOVW_G0, 16, 0, NONE),
    I(289, MOVW_PREL_G1, S_A_P, MOVS_G1, 33, SIGNED, NONE),
    I(290, MOVW_PREL_G1_NC, S_A_P, MOVW_G1, 32, 0, NONE),
    I(291, MOVW_PREL_G2, S_A_P, MOVS_G2, 49, SIGNED, NONE),
    I(292, MOVW_PREL_G2_NC, S_A_P, MOVW_G2, 48, 0, NONE),
    I(293, MOVW_PREL_G3, S_A_P, MOVW_G3, 64, 0, NONE),
    I(299, LDST128_ABS_LO12_NC, S_A, LO12_16, 12, 0, NONE),

    /* the GOT */
    I(300, MOVW_GOTOFF_G0, G_A_GOT, MOVS_G0, 17, SIGNED, ADDRESS),
    I(301, MOVW_GOTOFF_G0_NC, G_A_GOT, MOVW_G0, 16, 0, ADDRESS),
    I(302, MOVW_GOTOFF_G1, G_A_GOT, MOVS_G1, 33, SIGNED, ADDRESS),
    I(303, MOVW_GOTOFF_G1_NC, G_A_GOT, MOVW_G1, 32, 0, ADDRESS),
    I(304, MOVW_GOTOFF_G2, G_A_GOT, MOVS_G2, 49, SIGNED, ADDRESS),
    I(305, MOVW_GOTOFF_G2_NC, G_A_GOT, MOVW_G2, 48, 0, ADDRESS),
    I(306, MOVW_GOTOFF_G3, G_A_GOT, MOVW_G3, 64, 0, ADDRESS),
    D(307, GOTREL64, S_A_GOT, LE64, 64, 0, NONE),
    D(308, GOTREL32, S_A_GOT, LE32, 32, SIGNED, NONE),
    I(309, GOT_LD_PREL19, G_A_P, BRANCH19, 21, SIGNED, ADDRESS),
    I(310, LD64_GOTOFF_LO15, G_A_GOT, LO15_8, 15, UNSIGNED, ADDRESS),
    X(311, ADR_GOT_PAGE, PAGE_G_A_P, ADRP, 33, SIGNED, ADDRESS, GOT_PAGE),
    X(312, LD64_GOT_LO12_NC, G_A, LO12_8, 12, 0, ADDRESS, GOT_LO12),
    I(313, LD64_GOTPAGE_LO15, G_A_PAGE_GOT, LO15_8, 15, UNSIGNED, ADDRESS),
    D(314, PLT32, S_A_P, LE32, 32, SIGNED | STUB, NONE),
    D(315, GOTPCREL32, G_A_P, LE32, 32, SIGNED, ADDRESS),

    /* thread-local: general dynamic, local dynamic */
    I(512, TLSGD_ADR_PREL21, G_A_P, ADR, 21, SIGNED | TLS, TLS_INDEX),
    I(513, TLSGD_ADR_PAGE21, PAGE_G_A_P, ADRP, 33, SIGNED | TLS, TLS_INDEX),
    I(514, TLSGD_ADD_LO12_NC, G_A, LO12, 12, TLS, TLS_INDEX),
    I(515, TLSGD_MOVW_G1, G_A_GOT, MOVS_G1, 33, SIGNED | TLS, TLS_INDEX),
    I(516, TLSGD_MOVW_G0_NC, G_A_GOT, MOVW_G0, 16, TLS, TLS_INDEX),
    I(517, TLSLD_ADR_PREL21, G_A_P, ADR, 21, SIGNED | TLS, TLS_BASE),
    I(518, TLSLD_ADR_PAGE21, PAGE_G_A_P, ADRP, 33, SIGNED | TLS, TLS_BASE),
    I(519, TLSLD_ADD_LO12_NC, G_A, LO12, 12, TLS, TLS_BASE),
    I(520, TLSLD_MOVW_G1, G_A_GOT, MOVS_G1, 33, SIGNED | TLS, TLS_BASE),
    I(521, TLSLD_MOVW_G0_NC, G_A_GOT, MOVW_G0, 16, TLS, TLS_BASE),
    I(522, TLSLD_LD_PREL19, G_A_P, BRANCH19, 21, SIGNED | TLS, TLS_BASE),
    I(523, TLSLD_MOVW_DTPREL_G2, S_A, MOVS_G2, 49, SIGNED | TLS, NONE),
    I(524, TLSLD_MOVW_DTPREL_G1, S_A, MOVS_G1, 33, SIGNED | TLS, NONE),
    I(525, TLSLD_MOVW_DTPREL_G1_NC, S_A, MOVW_G1, 32, TLS, NONE),
    I(526, TLSLD_MOVW_DTPREL_G0, S_A, MOVS_G0, 17, SIGNED | TLS, NONE),
    I(527, TLSLD_MOVW_DTPREL_G0_NC, S_A, MOVW_G0, 16, TLS, NONE),
    I(528, TLSLD_ADD_DTPREL_HI12, S_A, HI12, 24, UNSIGNED | TLS, NONE),
    I(529, TLSLD_ADD_DTPREL_LO12, S_A, LO12, 12, UNSIGNED | TLS, NONE),
    I(530, TLSLD_ADD_DTPREL_LO12_NC, S_A, LO12, 12, TLS, NONE),
    I(531, TLSLD_LDST8_DTPREL_LO12, S_A, LO12, 12, UNSIGNED | TLS, NONE),
    I(532, TLSLD_LDST8_DTPREL_LO12_NC, S_A, LO12, 12, TLS, NONE),
    I(533, TLSLD_LDST16_DTPREL_LO12, S_A, LO12_2, 12, UNSIGNED | TLS, NONE),
    I(534, TLSLD_LDST16_DTPREL_LO12_NC, S_A, LO12_2, 12, TLS, NONE),
    I(535, TLSLD_LDST32_DTPREL_LO12, S_A, LO12_4, 12, UNSIGNED | TLS, NONE),
    I(536, TLSLD_LDST32_DTPREL_LO12_NC, S_A, LO12_4, 12, TLS, NONE),
    I(537, TLSLD_LDST64_DTPREL_LO12, S_A, LO12_8, 12, UNSIGNED | TLS, NONE),
    I(538, TLSLD_LDST64_DTPREL_LO12_NC, S_A, LO12_8, 12, TLS, NONE),

    /* initial exec, local exec */
    I(539, TLSIE_MOVW_GOTTPREL_G1, G_A_GOT, MOVS_G1, 33, SIGNED | TLS, ADDRESS),
    I(540, TLSIE_MOVW_GOTTPREL_G0_NC, G_A_GOT, MOVW_G0, 16, TLS, ADDRESS),
    X(541, TLSIE_ADR_GOTTPREL_PAGE21, PAGE_G_A_P, ADRP, 33, SIGNED | TLS, ADDRESS, TLSIE_PAGE),
    X(542, TLSIE_LD64_GOTTPREL_LO12_NC, G_A, LO12_8, 12, TLS, ADDRESS, TLSIE_LO12),
    I(543, TLSIE_LD_GOTTPREL_PREL19, G_A_P, BRANCH19, 21, SIGNED | TLS, ADDRESS),
    I(544, TLSLE_MOVW_TPREL_G2, S_A, MOVS_G2, 49, SIGNED | TLS | PROGRAM, NONE),
    I(545, TLSLE_MOVW_TPREL_G1, S_A, MOVS_G1, 33, SIGNED | TLS | PROGRAM, NONE),
    I(546, TLSLE_MOVW_TPREL_G1_NC, S_A, MOVW_G1, 32, TLS | PROGRAM, NONE),
    I(547, TLSLE_MOVW_TPREL_G0, S_A, MOVS_G0, 17, SIGNED | TLS | PROGRAM, NONE),
    I(548, TLSLE_MOVW_TPREL_G0_NC, S_A, MOVW_G0, 16, TLS | PROGRAM, NONE),
    I(549, TLSLE_ADD_TPREL_HI12, S_A, HI12, 24, UNSIGNED | TLS | PROGRAM, NONE),
    I(550, TLSLE_ADD_TPREL_LO12, S_A, LO12, 12, UNSIGNED | TLS | PROGRAM, NONE),
    I(551, TLSLE_ADD_TPREL_LO12_NC, S_A, LO12, 12, TLS | PROGRAM, NONE),
    I(552, TLSLE_LDST8_TPREL_LO12, S_A, LO12, 12, UNSIGNED | TLS | PROGRAM, NONE),
    I(553, TLSLE_LDST8_TPREL_LO12_NC, S_A, LO12, 12, TLS | PROGRAM, NONE),
    I(554, TLSLE_LDST16_TPREL_LO12, S_A, LO12_2, 12, UNSIGNED | TLS | PROGRAM, NONE),
    I(555, TLSLE_LDST16_TPREL_LO12_NC, S_A, LO12_2, 12, TLS | PROGRAM, NONE),
    I(556, TLSLE_LDST32_TPREL_LO12, S_A, LO12_4, 12, UNSIGNED | TLS | PROGRAM, NONE),
    I(557, TLSLE_LDST32_TPREL_LO12_NC, S_A, LO12_4, 12, TLS | PROGRAM, NONE),
    I(558, TLSLE_LDST64_TPREL_LO12, S_A, LO12_8, 12, UNSIGNED | TLS | PROGRAM, NONE),
    I(559, TLSLE_LDST64_TPREL_LO12_NC, S_A, LO12_8, 12, TLS | PROGRAM, NONE),

    /* descriptors; the last three only mark instructions */
    I(560, TLSDESC_LD_PREL19, G_A_P, BRANCH19, 21, SIGNED | TLS, TLS_DESC),
    I(561, TLSDESC_ADR_PREL21, G_A_P, ADR, 21, SIGNED | TLS, TLS_DESC),
    X(562, TLSDESC_ADR_PAGE21, PAGE_G_A_P, ADRP, 33, SIGNED | TLS, TLS_DESC, TLSDESC_PAGE),
    X(563, TLSDESC_LD64_LO12, G_A, LO12_8, 12, TLS, TLS_DESC, TLSDESC_LO12),
    X(564, TLSDESC_ADD_LO12, G_A, LO12, 12, TLS, TLS_DESC, TLSDESC_ADD),
    I(565, TLSDESC_OFF_G1, G_A_GOT, MOVS_G1, 33, SIGNED | TLS, TLS_DESC),
    I(566, TLSDESC_OFF_G0_NC, G_A_GOT, MOVW_G0, 16, TLS, TLS_DESC),
    N(567, TLSDESC_LDR),
    N(568, TLSDESC_ADD),
    N(569, TLSDESC_CALL),
    I(570, TLSLE_LDST128_TPREL_LO12, S_A, LO12_16, 12, UNSIGNED | TLS | PROGRAM, NONE),
    I(571, TLSLE_LDST128_TPREL_LO12_NC, S_A, LO12_16, 12, TLS | PROGRAM, NONE),
    I(572, TLSLD_LDST128_DTPREL_LO12, S_A, LO12_16, 12, UNSIGNED | TLS, NONE),
    I(573, TLSLD_LDST128_DTPREL_LO12_NC, S_A, LO12_16, 12, TLS, NONE),

    /* for dynamic linkers */
    DYNAMIC(1024, COPY),
    DYNAMIC(1025, GLOB_DAT),
    DYNAMIC(1026, JUMP_SLOT),
    DYNAMIC(1027, RELATIVE),
    DYNAMIC(1028, TLS_DTPMOD),
    DYNAMIC(1029, TLS_DTPREL),
    DYNAMIC(1030, TLS_TPREL),
    DYNAMIC(1031, TLSDESC),
    DYNAMIC(1032, IRELATIVE),
};

const struct tn_format tn_format_elf_aarch64 = {
    .name = "elf-aarch64",
    .reader = &tn__reader_elf,
    .arch = &tn__arch_aarch64,
    .machine = EM_AARCH64,
    .rows = rows,
    .row_count = TN_COUNT(rows),
    .steps = &tn__steps_fields,
};
