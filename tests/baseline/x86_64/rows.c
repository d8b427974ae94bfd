/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Every row of baseline/x86_64/rows.def, for all its sizes and many operands: its bytes are those of llvm-mc. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "baseline/x86_64/encode.h"

enum { LONGEST_TEXT = 256, MOST = 200000 };

static const char *const general[16] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                        "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
static const char *const halves[8] = {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"};
static const char *const bytes_of[8] = {"al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil"};

/* Cases, each with the bytes that are to be compared. */
static struct {
    FILE *text;
    struct {
        uint8_t bytes[TN__X64_LONGEST];
        uint8_t size;
        char text[LONGEST_TEXT];
    } * cases;
    size_t count;
} all;

static void name_register(char *out, char class, unsigned size, unsigned reg)
{
    size = class == 'b' ? 1 : class == 'w' ? 2 : class == 'D' ? 4 : class == 'V' ? 8 : size;
    if (strchr("xdq", class))
        sprintf(out, "xmm%u", reg & 15);
    else if (reg >= 8)
        sprintf(out, "r%u%s", reg, size == 1 ? "b" : size == 2 ? "w" : size == 4 ? "d" : "");
    else if (size == 1)
        strcpy(out, bytes_of[reg]);
    else
        sprintf(out, "%s%s", size == 4 ? "e" : size == 8 ? "r" : "", halves[reg]);
}

static void name_operand(char *out, char class, unsigned size, struct tn__x64_rm rm)
{
    static const char *const words[] = {
        [1] = "byte", [2] = "word", [4] = "dword", [8] = "qword", [10] = "tbyte", [16] = "xmmword"};
    char index[32] = "";
    static const uint8_t sizes[128] = {['b'] = 1, ['w'] = 2, ['H'] = 2, ['D'] = 4,  ['d'] = 4, ['S'] = 4,
                                       ['V'] = 8, ['q'] = 8, ['Q'] = 8, ['T'] = 10, ['x'] = 16};
    size = sizes[(unsigned char)class] ? sizes[(unsigned char)class] : size;
    if (!rm.is_memory) {
        name_register(out, class, size, rm.base);
        return;
    }
    if (rm.index != TN__NO_REGISTER)
        sprintf(index, " + %d*%s", 1 << rm.scale, general[rm.index]);
    const char *word = class == 'a' ? "" : words[size];
    sprintf(out, "%s%s[%s%s + %d]", word, class == 'a' ? "" : " ptr ", general[rm.base], index, rm.disp);
}

static void add_text(const char *text, const uint8_t *bytes, size_t size)
{
    assert_true(all.count < MOST);
    fprintf(all.text, "%s\n", text);
    memcpy(all.cases[all.count].bytes, bytes, size);
    all.cases[all.count].size = (uint8_t)size;
    snprintf(all.cases[all.count++].text, LONGEST_TEXT, "%s", text);
}

static void add_case(enum tn__x64_op op, unsigned size, unsigned reg, struct tn__x64_rm rm, int32_t immediate)
{
    const struct tn__x64_row *row = &tn__x64_rows[op];
    char first[64], second[96], text[LONGEST_TEXT], number[24] = "";
    uint8_t bytes[TN__X64_LONGEST], *field = NULL;
    name_register(first, row->reg == '-' ? 'v' : row->reg, size, reg);
    name_operand(second, row->rm, size, rm);
    switch (row->form) {
    case TN__X64_RM:
    case TN__X64_RMI:
        if (row->form == TN__X64_RMI)
            sprintf(number, ", %d", immediate);
        snprintf(text, sizeof text, "%s %s, %s%s", row->mnemonic, first, second, number);
        break;
    case TN__X64_MR:
        snprintf(text, sizeof text, "%s %s, %s", row->mnemonic, second, first);
        break;
    case TN__X64_M:
        snprintf(text, sizeof text, "%s %s", row->mnemonic, second);
        break;
    case TN__X64_N:
        snprintf(text, sizeof text, "%s", row->mnemonic);
        break;
    case TN__X64_MC:
        snprintf(text, sizeof text, "%s %s, cl", row->mnemonic, second);
        break;
    default:
        snprintf(text, sizeof text, "%s %s, %d", row->mnemonic, second, immediate);
    }
    add_text(text, bytes, (size_t)(tn__x64_put(bytes, op, size, reg, rm, immediate, &field) - bytes));
    assert_null(field);
}

/* llvm-mc has other forms for some operands, which the compiler does not use: it moves and combines registers by the
 * rows whose names end in MR, and has no short forms for the accumulator and for shifts by 1. */
static bool has_other_form(const struct tn__x64_row *row, enum tn__x64_op op, struct tn__x64_rm rm, int32_t immediate)
{
    bool is_pair = row->form == TN__X64_RM && op + 1 < TN__X64_OPS && row[1].form == TN__X64_MR &&
                   strcmp(row->mnemonic, row[1].mnemonic) == 0;
    bool is_store =
        row->form == TN__X64_MR && (strncmp(row->mnemonic, "movs", 4) == 0 || strcmp(row->mnemonic, "movaps") == 0);
    bool is_short = row->form == TN__X64_MI && !rm.is_memory && (rm.base == TN__RAX || op == TN__X64_MOV_MI);
    bool is_exchange = op == TN__X64_XCHG_MR && !rm.is_memory;
    if (is_short && op != TN__X64_MOV_MI)
        is_short = immediate != (int8_t)immediate || op == TN__X64_TEST_MI;
    bool is_byte_of_accumulator = row->form == TN__X64_MI && !rm.is_memory && rm.base == TN__RAX;
    return (!rm.is_memory && (is_pair || is_store)) || is_short || is_exchange || is_byte_of_accumulator ||
           (row->form == TN__X64_MB && immediate == 1);
}

static void add_operands(enum tn__x64_op op, unsigned size, unsigned reg, struct tn__x64_rm rm)
{
    static const int32_t immediates[] = {1, 5, 127, 128, -128, -129, 1000, 0x12345};
    const struct tn__x64_row *row = &tn__x64_rows[op];
    bool has_number = row->form == TN__X64_MI || row->form == TN__X64_RMI || row->form == TN__X64_MB;
    for (size_t i = 0; i < (has_number ? TN_COUNT(immediates) : 1); i++) {
        int32_t immediate = has_number ? immediates[i] : 0;
        bool fits = size == 1 || row->form == TN__X64_MB
                        ? immediate == (int8_t)immediate && (row->form != TN__X64_MB || immediate > 0)
                    : size == 2 ? immediate == (int16_t)immediate
                                : true;
        if (fits && !has_other_form(row, op, rm, immediate))
            add_case(op, size, reg, rm, immediate);
    }
}

static void add_row(enum tn__x64_op op, unsigned size)
{
    static const int32_t distances[] = {0, 8, -128, 127, 128, -129, 0x12345678};
    const struct tn__x64_row *row = &tn__x64_rows[op];
    bool is_memory = strchr("aHSQT", row->rm);
    if (row->form == TN__X64_N) {
        add_case(op, size, 0, tn__x64_register(0), 0);
        return;
    }
    for (unsigned a = 0; a < 16; a++)
        for (unsigned b = 0; b < 16; b++) {
            unsigned reg = strchr("x", row->reg) ? TN__XMM0 + a : a, rm = strchr("xdq", row->rm) ? TN__XMM0 + b : b;
            if (!is_memory && (row->form < TN__X64_M || a == 0))
                add_operands(op, size, reg, tn__x64_register(rm));
            if ((row->form >= TN__X64_M && a) || row->rm == 'r')
                continue;
            struct tn__x64_rm memory = tn__x64_memory(b, distances[(a + b) % TN_COUNT(distances)]);
            add_operands(op, size, reg, memory);
            memory.index = (uint8_t)((a * 7 + b) % 16);
            memory.scale = (a + b) % 4;
            if (memory.index != TN__RSP)
                add_operands(op, size, reg, memory);
        }
}

static void add_others(void)
{
    static const uint64_t values[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x123456789, UINT64_MAX, 1ull << 63};
    static const char *const conditions[16] = {"o", "no", "b", "ae", "e", "ne", "be", "a",
                                               "s", "ns", "p", "np", "l", "ge", "le", "g"};
    uint8_t bytes[TN__X64_LONGEST];
    char text[LONGEST_TEXT], name[24], other[24];
    for (unsigned reg = 0; reg < 16; reg++) {
        for (size_t i = 0; i < TN_COUNT(values); i++) {
            bool is_signed = values[i] > UINT32_MAX && (int64_t)values[i] == (int32_t)values[i];
            name_register(name, 'v', values[i] > UINT32_MAX ? 8 : 4, reg);
            if (is_signed)
                snprintf(text, sizeof text, "mov %s, %lld", name, (long long)values[i]);
            else
                snprintf(text, sizeof text, "mov%s %s, %llu", values[i] > UINT32_MAX ? "abs" : "", name,
                         (unsigned long long)values[i]);
            add_text(text, bytes, (size_t)(tn__x64_put_constant(bytes, reg, values[i]) - bytes));
        }
        for (unsigned cc = 0; cc < 16; cc++) {
            name_register(name, 'b', 1, reg);
            snprintf(text, sizeof text, "set%s %s", conditions[cc], name);
            add_text(text, bytes, (size_t)(tn__x64_put_setcc(bytes, cc, reg) - bytes));
            for (unsigned size = 4; size <= 8; size += 4) {
                name_register(name, 'v', size, reg);
                name_register(other, 'v', size, (reg + cc) % 16);
                snprintf(text, sizeof text, "cmov%s %s, %s", conditions[cc], name, other);
                uint8_t *end = tn__x64_put_cmov(bytes, cc, size, reg, tn__x64_register((reg + cc) % 16));
                add_text(text, bytes, (size_t)(end - bytes));
            }
        }
        for (unsigned size = 4; size <= 8; size += 4) {
            name_register(name, 'v', size, reg);
            snprintf(text, sizeof text, "bswap %s", name);
            add_text(text, bytes, (size_t)(tn__x64_put_bswap(bytes, size, reg) - bytes));
        }
    }
}

/* Compares with what llvm-mc says of each line, in order. */
static void compare(FILE *said)
{
    char line[512];
    size_t at = 0;
    while (fgets(line, sizeof line, said)) {
        char *encoding = strstr(line, "encoding: [");
        uint8_t bytes[TN__X64_LONGEST];
        size_t size = 0;
        if (!encoding)
            continue;
        encoding += strlen("encoding: [");
        while (size < sizeof bytes && *encoding && *encoding != ']') {
            bytes[size++] = (uint8_t)strtoul(encoding, &encoding, 16);
            encoding += *encoding == ',';
        }
        assert_true(at < all.count);
        if (size != all.cases[at].size || memcmp(bytes, all.cases[at].bytes, size) != 0)
            fail_msg("%s: other bytes than llvm-mc's:%s", all.cases[at].text, strstr(line, "encoding"));
        at++;
    }
    assert_int_equal(at, all.count);
}

static void test_rows(void **state)
{
    (void)state;
    const char *folder = getenv("LLVM_BIN"), *temporary = getenv("TMPDIR");
    char name[4096], command[8300];
    snprintf(name, sizeof name, "%s/tenon-rows-XXXXXX", temporary ? temporary : "/tmp");
    if (!folder || !*folder)
        skip();
    int file = mkstemp(name);
    assert_true(file >= 0);
    all.text = fdopen(file, "w");
    all.cases = calloc(MOST, sizeof *all.cases);
    assert_true(all.text && all.cases);
    fputs(".intel_syntax noprefix\n", all.text);
    for (unsigned op = 0; op < TN__X64_OPS; op++)
        for (unsigned size = 1; size <= 8; size *= 2)
            if (tn__x64_rows[op].sizes & size)
                add_row(op, size);
    add_others();
    assert_int_equal(fclose(all.text), 0);
    snprintf(command, sizeof command, "'%s/llvm-mc' --triple=x86_64-linux-gnu --show-encoding '%s'", folder, name);
    FILE *said = popen(command, "r");
    assert_non_null(said);
    compare(said);
    assert_int_equal(pclose(said), 0);
    unlink(name);
    print_message("%zu instructions compared\n", all.count);
    free(all.cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
