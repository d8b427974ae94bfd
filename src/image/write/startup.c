/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a compiler's driver adds to each library: a finalizer, with which the C library runs what the library has
 * registered to run at exit (Itanium C++ ABI, 3.3.6.3), and glibc's functions that register under the library's handle,
 * which are in no shared library (atexit, at_quick_exit, pthread_atfork). As one object for the machine, of those
 * functions that the inputs may need.
 *
 * Each of these functions passes __dso_handle on: it jumps to a function of the C library, so that nothing of it is on
 * the stack meanwhile, or fails if there is none. */

#include <errno.h>

#include "image/write/elf.h"

enum { FINISH, ROUTINES = 4 };

static const struct routine {
    const char *name, *calls;
    uint8_t argument; /* which one the handle is */
    bool clears;      /* the second argument */
    int failure;      /* what it answers where `calls` is not there */
} routines[ROUTINES] = {
    [FINISH] = {"finish", "__cxa_finalize", 0, false, 0},
    {"atexit", "__cxa_atexit", 2, true, -1},
    {"at_quick_exit", "__cxa_at_quick_exit", 1, false, -1},
    {"pthread_atfork", "__register_atfork", 3, false, ENOMEM},
};

/* ---- machines ---- */

/* SECOND: a label in the code. */
enum symbol { BEGIN, SECOND, CALLED, HANDLE };
enum { MOST_WORDS = 10, MOST_RELOCATIONS = 4 };

struct code {
    uint8_t bytes[4 * MOST_WORDS];
    uint32_t size, second; /* `second`: where that label is */
    struct {
        uint32_t at, type;
        enum symbol symbol;
        int64_t addend;
    } relocations[MOST_RELOCATIONS];
    uint32_t relocation_count;
};

static void put(struct code *code, const void *bytes, size_t size)
{
    memcpy(code->bytes + code->size, bytes, size);
    code->size += (uint32_t)size;
}

static void put_word(struct code *code, uint32_t word)
{
    tn__put32(code->bytes + code->size, word);
    code->size += 4;
}

/* Adds a relocation of what comes next, `distance` bytes on. */
static void relocate(struct code *code, uint32_t distance, uint32_t type, enum symbol symbol, int64_t addend)
{
    uint32_t i = code->relocation_count++;
    code->relocations[i].at = code->size + distance;
    code->relocations[i].type = type;
    code->relocations[i].symbol = symbol;
    code->relocations[i].addend = addend;
}

/*      lea   __dso_handle(%rip), %ARGUMENT
 *      xor   %esi, %esi                            if it clears
 *      mov   CALLED@GOTPCREL(%rip), %rax
 *      test  %rax, %rax
 *      je    1f
 *      jmp   *%rax
 *  1:  mov   $FAILURE, %eax
 *      ret */
static void write_x86_64(const struct routine *r, struct code *code)
{
    static const uint8_t arguments[] = {0x3d, 0x35, 0x15, 0x0d}; /* rdi, rsi, rdx, rcx; relative to rip */
    const uint8_t lea[] = {0x48, 0x8d, arguments[r->argument], 0, 0, 0, 0};
    relocate(code, 3, R_X86_64_PC32, HANDLE, -4);
    put(code, lea, sizeof lea);
    if (r->clears)
        put(code, (const uint8_t[]){0x31, 0xf6}, 2);
    relocate(code, 3, R_X86_64_GOTPCREL, CALLED, -4);
    put(code, (const uint8_t[]){0x48, 0x8b, 0x05, 0, 0, 0, 0, 0x48, 0x85, 0xc0, 0x74, 0x02, 0xff, 0xe0, 0xb8}, 15);
    put_word(code, (uint32_t)r->failure);
    put(code, (const uint8_t[]){0xc3}, 1);
}

/*      bti   c
 *      adrp  xARGUMENT, __dso_handle
 *      add   xARGUMENT, xARGUMENT, :lo12:__dso_handle
 *      mov   x1, #0                                if it clears
 *      adrp  x16, :got:CALLED
 *      ldr   x16, [x16, :got_lo12:CALLED]
 *      cbz   x16, 1f
 *      br    x16
 *  1:  mov   w0, #FAILURE
 *      ret */
static void write_aarch64(const struct routine *r, struct code *code)
{
    uint32_t x = r->argument, failure = (uint32_t)(r->failure < 0 ? ~r->failure : r->failure);
    put_word(code, 0xd503245fU);
    relocate(code, 0, R_AARCH64_ADR_PREL_PG_HI21, HANDLE, 0);
    put_word(code, 0x90000000U | x);
    relocate(code, 0, R_AARCH64_ADD_ABS_LO12_NC, HANDLE, 0);
    put_word(code, 0x91000000U | x << 5 | x);
    if (r->clears)
        put_word(code, 0xd2800001U);
    relocate(code, 0, R_AARCH64_ADR_GOT_PAGE, CALLED, 0);
    put_word(code, 0x90000010U);
    relocate(code, 0, R_AARCH64_LD64_GOT_LO12_NC, CALLED, 0);
    put_word(code, 0xf9400210U);
    put_word(code, 0xb4000050U);
    put_word(code, 0xd61f0200U);
    put_word(code, (r->failure < 0 ? 0x12800000U : 0x52800000U) | failure << 5);
    put_word(code, 0xd65f03c0U);
}

/*      auipc aARGUMENT, %pcrel_hi(__dso_handle)
 *      addi  aARGUMENT, aARGUMENT, %pcrel_lo(BEGIN)
 *      li    a1, 0                                 if it clears
 *  SECOND:
 *      auipc t1, %got_pcrel_hi(CALLED)
 *      ld    t1, %pcrel_lo(SECOND)(t1)
 *      beqz  t1, 1f
 *      jr    t1
 *  1:  li    a0, FAILURE
 *      ret */
static void write_riscv64(const struct routine *r, struct code *code)
{
    uint32_t a = 10 + r->argument;
    relocate(code, 0, R_RISCV_PCREL_HI20, HANDLE, 0);
    put_word(code, 0x17U | a << 7);
    relocate(code, 0, R_RISCV_PCREL_LO12_I, BEGIN, 0);
    put_word(code, 0x13U | a << 7 | a << 15);
    if (r->clears)
        put_word(code, 0x593U);
    code->second = code->size;
    relocate(code, 0, R_RISCV_GOT_HI20, CALLED, 0);
    put_word(code, 0x317U);
    relocate(code, 0, R_RISCV_PCREL_LO12_I, SECOND, 0);
    put_word(code, 0x33303U);
    put_word(code, 0x30463U);
    put_word(code, 0x30067U);
    put_word(code, 0x513U | (uint32_t)r->failure << 20);
    put_word(code, 0x8067U);
}

static const struct machine {
    uint16_t number;
    uint32_t flags;
    uint32_t address; /* the type of a relocation that stores one */
    void (*write)(const struct routine *r, struct code *code);
} machines[] = {
    {EM_X86_64, 0, R_X86_64_64, write_x86_64},
    {EM_AARCH64, 0, R_AARCH64_ABS64, write_aarch64},
    {EM_RISCV, 4 /* EF_RISCV_FLOAT_ABI_DOUBLE */, R_RISCV_64, write_riscv64},
};

/* ---- the object ---- */

/* Where compilers' startup files have it: after the finalizers without a priority, before those with one. */
enum { TEXT = 1, RELA_TEXT, ARRAY, RELA_ARRAY, SYMTAB, STRTAB, SECTIONS };
static const char section_names[] = "\0.rela.text\0.rela.fini_array.65534\0.symtab\0.strtab\0__dso_handle";
enum { AT_RELA_TEXT = 1, AT_RELA_ARRAY = 12, AT_SYMTAB = 35, AT_STRTAB = 43, AT_HANDLE = 51 };
enum { RELA = sizeof ".rela" - 1, STRIDE = 64, MOST_NAMES = 256 };

struct object {
    Elf64_Ehdr header;
    uint8_t text[ROUTINES * STRIDE];
    Elf64_Rela text_relocations[ROUTINES * MOST_RELOCATIONS];
    uint64_t array[1];
    Elf64_Rela array_relocations[1];
    Elf64_Sym symbols[2 + 4 * ROUTINES];
    char names[MOST_NAMES];
    Elf64_Shdr sections[SECTIONS];
};
_Static_assert(sizeof(((struct code *)0)->bytes) <= STRIDE, "");

struct making {
    struct object *object;
    const struct machine *machine;
    uint32_t wanted; /* a bit for each routine */
    uint32_t relocations, name_end;
};

/* Numbers of symbols: local ones first. */
static uint32_t number_of(uint32_t routine, enum symbol symbol)
{
    const uint32_t local = 1 + 2 * routine, global = 2 + 2 * ROUTINES + 2 * routine;
    return symbol == BEGIN ? local : symbol == SECOND ? local + 1 : symbol == HANDLE ? 1 + 2 * ROUTINES : global;
}

static uint32_t put_name(struct making *m, const char *name)
{
    uint32_t at = m->name_end;
    size_t size = strlen(name) + 1;
    memcpy(m->object->names + at, name, size);
    m->name_end += (uint32_t)size;
    return at;
}

/* What is not wanted has symbols without a name, which mean nothing. */
static void add(struct making *m, uint32_t i)
{
    const struct routine *r = &routines[i];
    Elf64_Sym *symbols = m->object->symbols;
    struct code code = {0};
    m->machine->write(r, &code);
    uint32_t at = i * STRIDE;
    memcpy(m->object->text + at, code.bytes, code.size);
    for (uint32_t k = 0; k < code.relocation_count; k++)
        m->object->text_relocations[m->relocations++] =
            (Elf64_Rela){at + code.relocations[k].at,
                         ELF64_R_INFO((uint64_t)number_of(i, code.relocations[k].symbol), code.relocations[k].type),
                         code.relocations[k].addend};
    uint32_t name = put_name(m, r->name), called = number_of(i, CALLED);
    symbols[number_of(i, BEGIN)] =
        (Elf64_Sym){name, ELF64_ST_INFO(STB_LOCAL, STT_FUNC), STV_DEFAULT, TEXT, at, code.size};
    symbols[number_of(i, SECOND)] =
        (Elf64_Sym){name, ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE), STV_DEFAULT, TEXT, at + code.second, 0};
    symbols[called] =
        (Elf64_Sym){put_name(m, r->calls), ELF64_ST_INFO(STB_WEAK, STT_NOTYPE), STV_DEFAULT, SHN_UNDEF, 0, 0};
    if (i != FINISH) /* an input's own definition comes before it */
        symbols[called + 1] = (Elf64_Sym){name, ELF64_ST_INFO(STB_WEAK, STT_FUNC), STV_HIDDEN, TEXT, at, code.size};
}

#define PART(member) .sh_offset = offsetof(struct object, member), .sh_size = sizeof(((struct object *)0)->member)

/* `count` relocations for section `of`. */
#define RELOCATIONS(named, of, member, count)                                                                          \
    (Elf64_Shdr)                                                                                                       \
    {                                                                                                                  \
        .sh_name = (named), .sh_type = SHT_RELA, .sh_flags = SHF_INFO_LINK,                                            \
        .sh_offset = offsetof(struct object, member), .sh_size = (count) * sizeof(Elf64_Rela), .sh_link = SYMTAB,      \
        .sh_info = (of), .sh_addralign = 8, .sh_entsize = sizeof(Elf64_Rela),                                          \
    }

static void add_tables(struct making *m)
{
    struct object *o = m->object;
    o->array_relocations[0] = (Elf64_Rela){0, ELF64_R_INFO((uint64_t)number_of(FINISH, BEGIN), m->machine->address), 0};
    o->symbols[number_of(0, HANDLE)] =
        (Elf64_Sym){AT_HANDLE, ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), STV_HIDDEN, SHN_UNDEF, 0, 0};
    Elf64_Shdr *s = o->sections;
    s[TEXT] = (Elf64_Shdr){.sh_name = AT_RELA_TEXT + RELA, .sh_type = SHT_PROGBITS, PART(text), .sh_addralign = 16};
    s[TEXT].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
    s[RELA_TEXT] = RELOCATIONS(AT_RELA_TEXT, TEXT, text_relocations, m->relocations);
    s[ARRAY] = (Elf64_Shdr){.sh_name = AT_RELA_ARRAY + RELA, .sh_type = SHT_FINI_ARRAY, PART(array), .sh_addralign = 8};
    s[ARRAY].sh_flags = SHF_ALLOC | SHF_WRITE;
    s[RELA_ARRAY] = RELOCATIONS(AT_RELA_ARRAY, ARRAY, array_relocations, 1);
    s[SYMTAB] = (Elf64_Shdr){.sh_name = AT_SYMTAB, .sh_type = SHT_SYMTAB, PART(symbols), .sh_link = STRTAB};
    s[SYMTAB].sh_info = 1 + 2 * ROUTINES;
    s[SYMTAB].sh_addralign = 8;
    s[SYMTAB].sh_entsize = sizeof(Elf64_Sym);
    s[STRTAB] = (Elf64_Shdr){.sh_name = AT_STRTAB, .sh_type = SHT_STRTAB, PART(names), .sh_addralign = 1};
}

static void make_object(struct making *m)
{
    struct object *o = m->object;
    o->header = (Elf64_Ehdr){
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_REL,
        .e_machine = m->machine->number,
        .e_version = EV_CURRENT,
        .e_shoff = offsetof(struct object, sections),
        .e_flags = m->machine->flags,
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = SECTIONS,
        .e_shstrndx = STRTAB,
    };
    memcpy(o->names, section_names, sizeof section_names);
    m->name_end = sizeof section_names;
    for (uint32_t i = 0; i < ROUTINES; i++)
        if (m->wanted >> i & 1)
            add(m, i);
    add_tables(m);
}

/* ---- whether it is needed ---- */

/* By the names in the inputs' tables, in which one name may be the end of another. */
static bool mentions(const struct tn_input *inputs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (memmem(inputs[i].bytes, inputs[i].length, name, strlen(name) + 1))
            return true;
    return false;
}

/* Of the first input, or of its first member; 0: it is none that can be linked. */
static uint16_t machine_of(const struct tn_input *inputs, size_t count)
{
    static const char magic[] = ELFMAG;
    const uint8_t *elf = count ? memmem(inputs[0].bytes, inputs[0].length, magic, SELFMAG) : NULL;
    size_t left = elf ? inputs[0].length - (size_t)(elf - (const uint8_t *)inputs[0].bytes) : 0;
    return left < sizeof(Elf64_Ehdr) ? 0 : tn__get16(elf + offsetof(Elf64_Ehdr, e_machine));
}

int tn__startup_object(const struct tn_input *inputs, size_t count, struct tn__arena *arena, struct tn_input *input,
                       struct tn_error *err)
{
    struct making m = {0};
    *input = (struct tn_input){0};
    for (uint32_t i = 1; i < ROUTINES; i++) /* what registers at all needs the finalizer */
        if (mentions(inputs, count, routines[i].calls))
            m.wanted |= 1 << FINISH;
    for (uint32_t i = 1; i < ROUTINES; i++)
        if (mentions(inputs, count, routines[i].name))
            m.wanted |= 1 << FINISH | 1U << i;
    for (size_t i = 0; i < TN_COUNT(machines); i++)
        if (machines[i].number == machine_of(inputs, count))
            m.machine = &machines[i];
    if (!m.wanted || !m.machine)
        return 0;
    m.object = tn__arena_array(arena, 1, sizeof *m.object);
    if (!m.object)
        return tn__fail(err, TN_ENOMEM, "out of memory");
    memset(m.object, 0, sizeof *m.object);
    make_object(&m);
    *input = (struct tn_input){.size = sizeof *input, .name = "startup", .bytes = m.object, .length = sizeof *m.object};
    return 0;
}
