/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The beginning of every program that `tenon build --kind=exe` writes: a static program that waits for an image. The
 * kernel maps the image with it, so nothing is opened here, and neither /proc nor a file system is needed. What is left
 * to do is what a linker leaves to the start of a static PIE: addresses in the image's data, its slots, its
 * initializers. */

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stub.h"

/* Volatile: the compiler must not take the zeros for its values. */
extern const volatile struct tn__program tn__program;
const volatile struct tn__program tn__program = {0};

extern char __ehdr_start[] __attribute__((visibility("hidden"))); /* the linker's */

enum { CANNOT_RUN = 126 /* what shells say of a file that is there but cannot be executed */ };

void *tn__stub_at(uint64_t distance)
{
    return __ehdr_start + distance;
}

/* What the program begins with (host_*.c): addresses in the image's data come first, because libc copies the initial
 * values of thread-local data for its first thread.
 *
 * gABI draft, "Relative Relocation Table": an even word is an address; an odd one is a bitmap of the 63 words behind
 * the last. The stub itself is not relocated yet: no address is read from its own data. */
__attribute__((used)) void tn__stub_relocate(void);
void tn__stub_relocate(void)
{
    const uint64_t *words = tn__stub_at(tn__program.relr.at), base = (uintptr_t)__ehdr_start;
    uint64_t *next = NULL;
    for (size_t i = 0; i < tn__program.relr.size / sizeof *words; i++) {
        uint64_t word = words[i];
        if (!(word & 1)) {
            next = tn__stub_at(word);
            *next++ += base;
            continue;
        }
        for (uint64_t *target = next; word >>= 1; target++)
            if (word & 1)
                *target += base;
        next += 63;
    }
}

/* The image counts distances from the thread pointer. In the place of libc's. */
void *__tls_get_addr(const uint64_t *index);
void *__tls_get_addr(const uint64_t *index)
{
    return (char *)__builtin_thread_pointer() + index[1];
}

/* If the system refuses, the program runs all the same. An image ends at the end of a page of any size, a stub of the
 * smallest: what is in a larger page with other data stays writable. */
static void seal(uint64_t start, uint64_t size)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), begin = start & -page, end = (start + size) & -page;
    if (begin < end)
        mprotect(tn__stub_at(begin), end - begin, PROT_READ);
}

/* musl does this for dynamic programs only. */
static void seal_stub(void)
{
    const Elf64_Ehdr *file = tn__stub_at(0);
    const Elf64_Phdr *headers = tn__stub_at(file->e_phoff);
    for (size_t i = 0; i < file->e_phnum; i++)
        if (headers[i].p_type == PT_GNU_RELRO)
            seal(headers[i].p_vaddr, headers[i].p_memsz);
}

static struct tn__program program;

static void finish(void)
{
    void (**functions)(void) = tn__stub_at(program.fini.at);
    for (size_t i = program.fini.size / sizeof *functions; i-- > 0;)
        functions[i]();
}

static void initialize(int argc, char **argv, char **envp)
{
    void (**functions)(int, char **, char **) = tn__stub_at(program.init.at);
    atexit(finish); /* before initializers register anything: what comes last runs first */
    for (size_t i = 0; i < program.init.size / sizeof *functions; i++)
        functions[i](argc, argv, envp);
}

static int fail(const char *name, const char *why)
{
    fprintf(stderr, "%s: %s\n", name ? name : "program", why);
    return CANNOT_RUN;
}

static int open_image(struct tn_image **image, struct tn_error *err)
{
    return tn__stub_open ? tn__stub_open(&program, image, err)
                         : tn_image_open_linked(tn__stub_at(program.image), NULL, image, err);
}

int main(int argc, char **argv, char **envp)
{
    struct tn_image *image;
    struct tn_error err;
    program = tn__program;
    if (!program.image)
        return fail(argv[0], "there is no image in this program");
    seal(program.relro.at, program.relro.size);
    seal_stub();
    if ((tn__stub_manage && tn__stub_manage(&program, argv[0] ? argv[0] : "program", &err)) || open_image(&image, &err))
        return fail(argv[0], err.text);
    void *own = tn_image_lookup(image, "main");
    int (*run)(int, char **, char **) = (int (*)(int, char **, char **))(own ? own : tn__stub_at(program.main));
    initialize(argc, argv, envp);
    return run(argc, argv, envp);
}
