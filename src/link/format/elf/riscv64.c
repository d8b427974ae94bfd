/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* ELF for RISC-V: RISC-V ELF psABI, chapter "Relocations".
 *
 * Pairs of instructions reach 2 GiB from their place, or from zero; calls that do not reach go through a stub. The
 * second instruction of a pair that is relative to its place names the first one, not the target. Compilers leave
 * differences of labels to the linker, even in data, because code becomes shorter when it is linked; so there are
 * relocations to add and to subtract. */

#include "link/arch/riscv64/riscv64.h"
#include "link/format/elf/reader.h"
#include "link/passes/steps.h"

#define ROW(no, name, value, field, size, bits, flags, slot, relax)                                                    \
    [no] = TN__ROW("R_RISCV_" #name, TN__V_##value, field, size, bits, flags, TN__SLOT_##slot, relax)
#define D(no, name, value, field, bits, flags, slot)                                                                   \
    ROW(no, name, value, TN__F_##field, 1 << TN__F_##field, bits, flags, slot, 0)
#define I(no, name, value, field, size, bits, flags, slot)                                                             \
    ROW(no, name, value, TN__RISCV64_##field, size, bits, flags, slot, 0)
#define X(no, name, value, field, size, bits, flags, form)                                                             \
    ROW(no, name, value, TN__RISCV64_##field, size, bits, flags, NONE, TN__RISCV64_##form)
#define N(no, name, form) ROW(no, name, NONE, TN__F_LE8, 0, 0, 0, NONE, form)
#define DYNAMIC(no, name) ROW(no, name, UNSUPPORTED, TN__F_LE64, 8, 64, 0, NONE, 0)

#define SIGNED   TN__R_SIGNED
#define UNSIGNED TN__R_UNSIGNED
#define STUB     TN__R_STUB
#define LOW      TN__R_LOW
#define TLS      TN__R_TLS
#define PROGRAM  TN__R_PROGRAM
#define HIGH     TN__R_SIGNED | TN__R_ROUNDED

/* no. name, value, field, bits, flags, GOT slot; D: in data; I: in an instruction, with the size of what is changed;
 * X: in one that may be rewritten or become shorter; N: without a value */
static const struct tn__row rows[] = {
    N(0, NONE, 0),

    /* data */
    D(1, 32, S_A, LE32, 32, SIGNED | UNSIGNED | LOW, NONE),
    D(2, 64, S_A, LE64, 64, 0, NONE),
    D(33, ADD8, F_S_A, LE8, 8, 0, NONE),
    D(34, ADD16, F_S_A, LE16, 16, 0, NONE),
    D(35, ADD32, F_S_A, LE32, 32, 0, NONE),
    D(36, ADD64, F_S_A, LE64, 64, 0, NONE),
    D(37, SUB8, F_MINUS, LE8, 8, 0, NONE),
    D(38, SUB16, F_MINUS, LE16, 16, 0, NONE),
    D(39, SUB32, F_MINUS, LE32, 32, 0, NONE),
    D(40, SUB64, F_MINUS, LE64, 64, 0, NONE),
    D(41, GOT32_PCREL, G_A_P, LE32, 32, SIGNED, ADDRESS),
    I(52, SUB6, F_MINUS, LOW6, 1, 6, 0, NONE),
    I(53, SET6, S_A, LOW6, 1, 6, 0, NONE),
    D(54, SET8, S_A, LE8, 8, 0, NONE),
    D(55, SET16, S_A, LE16, 16, 0, NONE),
    D(56, SET32, S_A, LE32, 32, 0, NONE),
    D(57, 32_PCREL, S_A_P, LE32, 32, SIGNED, NONE),
    D(59, PLT32, S_A_P, LE32, 32, SIGNED | STUB, NONE),
    ROW(60, SET_ULEB128, MINUEND, TN__F_ULEB128, 1, 64, 0, NONE, 0),
    ROW(61, SUB_ULEB128, SUBTRACT, TN__F_ULEB128, 1, 64, 0, NONE, 0),

    /* branches */
    I(16, BRANCH, S_A_P, BRANCH, 4, 13, SIGNED, NONE),
    I(17, JAL, S_A_P, JAL, 4, 21, SIGNED | STUB, NONE),
    X(18, CALL, S_A_P, CALL, 8, 32, HIGH | STUB, NEAR_CALL),
    X(19, CALL_PLT, S_A_P, CALL, 8, 32, HIGH | STUB, NEAR_CALL),
    I(44, RVC_BRANCH, S_A_P, RVC_BRANCH, 2, 9, SIGNED, NONE),
    I(45, RVC_JUMP, S_A_P, RVC_JUMP, 2, 12, SIGNED, NONE),

    /* addresses */
    I(20, GOT_HI20, G_A_P, HI20, 4, 32, HIGH, ADDRESS),
    X(23, PCREL_HI20, S_A_P, HI20, 4, 32, HIGH, PAIR),
    I(24, PCREL_LO12_I, AT_S, LO12_I, 4, 12, 0, NONE),
    I(25, PCREL_LO12_S, AT_S, LO12_S, 4, 12, 0, NONE),
    X(26, HI20, S_A, HI20, 4, 32, HIGH | LOW, HIGH),
    X(27, LO12_I, S_A, LO12_I, 4, 12, LOW, LOW),
    X(28, LO12_S, S_A, LO12_S, 4, 12, LOW, LOW),

    /* thread-local storage */
    I(21, TLS_GOT_HI20, G_A_P, HI20, 4, 32, HIGH | TLS, ADDRESS),
    I(22, TLS_GD_HI20, G_A_P, HI20, 4, 32, HIGH | TLS, TLS_INDEX),
    I(8, TLS_DTPREL32, S_A, DTPREL32, 4, 32, TLS, NONE), /* in data */
    I(9, TLS_DTPREL64, S_A, DTPREL64, 8, 64, TLS, NONE),
    X(29, TPREL_HI20, S_A, HI20, 4, 32, HIGH | TLS | PROGRAM, TLS_HIGH),
    X(30, TPREL_LO12_I, S_A, LO12_I, 4, 12, TLS | PROGRAM, TLS_LOW),
    X(31, TPREL_LO12_S, S_A, LO12_S, 4, 12, TLS | PROGRAM, TLS_LOW),
    N(32, TPREL_ADD, TN__RISCV64_TLS_HIGH),
    I(62, TLSDESC_HI20, G_A_P, HI20, 4, 32, HIGH | TLS, TLS_DESC),
    I(63, TLSDESC_LOAD_LO12, AT_S, LO12_I, 4, 12, 0, NONE),
    I(64, TLSDESC_ADD_LO12, AT_S, LO12_I, 4, 12, 0, NONE),
    N(65, TLSDESC_CALL, 0),

    /* code that may become shorter */
    N(43, ALIGN, TN__RISCV64_PADDING),
    N(51, RELAX, TN__FORM_PERMITS),

    /* those of linked files */
    DYNAMIC(3, RELATIVE),
    DYNAMIC(4, COPY),
    DYNAMIC(5, JUMP_SLOT),
    DYNAMIC(6, TLS_DTPMOD32),
    DYNAMIC(7, TLS_DTPMOD64),
    DYNAMIC(10, TLS_TPREL32),
    DYNAMIC(11, TLS_TPREL64),
    DYNAMIC(12, TLSDESC),
    DYNAMIC(58, IRELATIVE),
};

const struct tn_format tn_format_elf_riscv64 = {
    .name = "elf-riscv64",
    .reader = &tn__reader_elf,
    .arch = &tn__arch_riscv64,
    .machine = EM_RISCV,
    .rows = rows,
    .row_count = TN_COUNT(rows),
    .steps = &tn__steps_shrink,
};
