/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Asks where it lies, as an ordinary program asks the dynamic linker. Functions return 0, or the line of what is not as
 * in an ordinary program. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            return __LINE__;                                                                                           \
    } while (0)

#ifdef __riscv
enum { TLS_BIAS = 0x800 };
#else
enum { TLS_BIAS = 0 };
#endif

int variable[4] = {1, 2, 3, 4};
const int constant[2] = {5, 6};
static int gathered __attribute__((section("itself"), used)) = 7;
extern int __start_itself[]; /* so the section has a range of its own */

static int hidden_function(int value)
{
    return value * 3;
}

/* Its address may be another library's, of course. */
int function(int value)
{
    return hidden_function(value) + variable[value & 3];
}

/* ---- dladdr ---- */

static int is_here(const void *address, const char *name, const void *start)
{
    Dl_info info;
    memset(&info, 255, sizeof info);
    if (!dladdr(address, &info) || strcmp(info.dli_fname, "itself") || !info.dli_fbase)
        return 0;
    return name ? info.dli_sname && !strcmp(info.dli_sname, name) && info.dli_saddr == start
                : !info.dli_sname && !info.dli_saddr;
}

int check_dladdr(const void *of_host)
{
    int (*volatile other)(int) = hidden_function;
    Dl_info info = {.dli_fname = "none"};
    CHECK(is_here((void *)function, "function", (void *)function));
    CHECK(is_here((char *)function + 1, "function", (void *)function));
    CHECK(is_here(variable, "variable", variable));
    CHECK(is_here(&variable[3], "variable", variable));
    CHECK(is_here(&constant[1], "constant", constant));
    CHECK(is_here((void *)other, NULL, NULL)); /* known to this file only */
    CHECK(!dladdr(of_host, &info) || strcmp(info.dli_fname, "itself"));
    CHECK(!dladdr((void *)1, &info));
    return 0;
}

/* ---- dl_iterate_phdr ---- */

struct search {
    const void *address;
    int found, calls, flags;
    unsigned long long adds, subs, changes;
    const char *name;
};

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
    struct search *search = context;
    if (size < offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        return -1;
    search->changes += search->calls && (search->adds != info->dlpi_adds || search->subs != info->dlpi_subs);
    search->adds = info->dlpi_adds;
    search->subs = info->dlpi_subs;
    search->calls++;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD ||
            (ElfW(Addr))search->address - info->dlpi_addr - header->p_vaddr >= header->p_memsz)
            continue;
        search->found++;
        search->flags = (int)header->p_flags;
        search->name = info->dlpi_name;
    }
    return 0;
}

static int lies_in(const void *address, int flags)
{
    struct search search = {.address = address};
    Dl_info info;
    return !dl_iterate_phdr(visit, &search) && search.found == 1 && search.flags == flags &&
           !strcmp(search.name, "itself") && dladdr(address, &info) && !search.changes;
}

static _Thread_local int per_thread[3] = {1, 2, 3};
void *__tls_get_addr(const size_t *index);

/* Runtimes find the thread-local data of each thread by the module number. */
static int visit_tls(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    if (strcmp(info->dlpi_name, "itself"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        const char *data = __tls_get_addr((size_t[]){info->dlpi_tls_modid, -(size_t)TLS_BIAS});
        if (header->p_type == PT_TLS && data == info->dlpi_tls_data)
            *(int *)context |= (ElfW(Addr))per_thread - (ElfW(Addr))data <= header->p_memsz - sizeof per_thread;
    }
    return 0;
}

static int stop(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    ++*(int *)context;
    return info->dlpi_phnum ? 77 : 0;
}

int check_iterate(const void *of_host)
{
    struct search search = {.address = of_host}, between = {.address = __start_itself};
    int calls = 0, has_tls = 0;
    CHECK(lies_in((void *)check_iterate, PF_R | PF_X));
    CHECK(lies_in((void *)hidden_function, PF_R | PF_X));
    CHECK(lies_in(variable, PF_R | PF_W));
    CHECK(lies_in(&variable[3], PF_R | PF_W));
    CHECK(lies_in(constant, PF_R));
    CHECK(!dl_iterate_phdr(visit, &between) && between.found == 1 && !strcmp(between.name, "itself"));
    CHECK(!dl_iterate_phdr(visit_tls, &has_tls) && has_tls);
    CHECK(!dl_iterate_phdr(visit, &search));
    CHECK(search.found == 1 && strcmp(search.name, "itself") && search.calls > 1);
    CHECK(dl_iterate_phdr(stop, &calls) == 77 && calls == 1);
    return 0;
}

/* How often something was loaded or unloaded. */
unsigned long long count_changes(void)
{
    struct search search = {.address = NULL};
    dl_iterate_phdr(visit, &search);
    return search.adds * 1000 + search.subs;
}

int ask(const void *address, Dl_info *info)
{
    return dladdr(address, info);
}

int try_iterate(void)
{
    struct search search = {.address = NULL};
    return dl_iterate_phdr(visit, &search);
}
