/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* order PROGRAM [ARG...]: runs PROGRAM and prints the functions it enters, in the order of their first call.
 *
 * Given to the linker as a symbol ordering file, the list brings together what a start of the tool touches. Without it
 * those functions lie scattered over 30 MB, and each page fault maps 16 pages of code that nobody runs.
 *
 * Every function of the symbol table gets a breakpoint, which is removed when it is hit: one trap per function. Linux
 * on x86-64 only; anywhere else, and where ptrace is not permitted, the list is empty and the program merely
 * unordered. */

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

struct function {
    uint64_t address;
    const char *name;
    unsigned char first_byte;
};

struct program {
    struct function *functions;
    size_t count;
    int memory; /* /proc/PID/mem */
};

static int fail(const char *what)
{
    fprintf(stderr, "order: %s: the functions stay in the linker's order\n", what);
    return 0;
}

/* ---- functions of the program ---- */

static int by_address(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static void add_functions(struct program *program, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = header->sh_size / header->sh_entsize;
    program->functions = calloc(count, sizeof *program->functions);
    if (!data || !program->functions)
        return;
    for (size_t i = 0; i < count; i++) {
        GElf_Sym symbol;
        gelf_getsym(data, (int)i, &symbol);
        if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_size && symbol.st_shndx != SHN_UNDEF)
            program->functions[program->count++] =
                (struct function){symbol.st_value, elf_strptr(elf, header->sh_link, symbol.st_name), 0};
    }
    qsort(program->functions, program->count, sizeof *program->functions, by_address);
}

static void read_functions(struct program *program, const char *path)
{
    elf_version(EV_CURRENT);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
    for (Elf_Scn *section = NULL; elf && (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
            add_functions(program, elf, section, &header);
    }
    /* The names are in the mapped file, which stays. */
}

/* ---- breakpoints ---- */

static int poke(const struct program *program, const struct function *function, unsigned char byte)
{
    return pwrite(program->memory, &byte, 1, (off_t)function->address) == 1;
}

static int set_breakpoints(struct program *program)
{
    for (size_t i = 0; i < program->count; i++) {
        struct function *f = &program->functions[i];
        if (i && f->address == f[-1].address) {
            f->first_byte = f[-1].first_byte;
            continue;
        }
        if (pread(program->memory, &f->first_byte, 1, (off_t)f->address) != 1 || !poke(program, f, 0xcc))
            return 0;
    }
    return 1;
}

/* Prints the function that was entered, under all its names, and lets it go on. */
static int pass_breakpoint(const struct program *program, pid_t child)
{
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, child, NULL, &registers))
        return 0;
    struct function key = {.address = registers.rip - 1};
    struct function *f = bsearch(&key, program->functions, program->count, sizeof key, by_address);
    if (!f)
        return 0;
    while (f > program->functions && f[-1].address == key.address)
        f--;
    registers.rip--;
    if (!poke(program, f, f->first_byte) || ptrace(PTRACE_SETREGS, child, NULL, &registers))
        return 0;
    for (; f < program->functions + program->count && f->address == key.address; f++)
        puts(f->name);
    return 1;
}

static int trace(struct program *program, pid_t child)
{
    char path[64];
    int status, signal = 0;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return fail("ptrace is not permitted");
    snprintf(path, sizeof path, "/proc/%d/mem", (int)child);
    program->memory = open(path, O_RDWR | O_CLOEXEC);
    if (program->memory < 0 || !set_breakpoints(program))
        return fail("the program's memory cannot be written");
    for (;;) {
        if (ptrace(PTRACE_CONT, child, NULL, (void *)(intptr_t)signal) || waitpid(child, &status, 0) != child)
            return fail("lost the program");
        if (!WIFSTOPPED(status))
            return 1;
        signal = WSTOPSIG(status);
        if (signal == SIGTRAP && pass_breakpoint(program, child))
            signal = 0;
    }
}

int main(int argc, char **argv)
{
    struct program program = {0};
    if (argc < 2)
        return 2;
    read_functions(&program, argv[1]);
    if (!program.count)
        return fail("no symbols");
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDOUT_FILENO);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
            execv(argv[1], argv + 1);
        _exit(1);
    }
    if (child > 0 && !trace(&program, child))
        kill(child, SIGKILL);
    return 0;
}
