/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Versions of symbols (Drepper, "ELF Symbol Versioning"), and what a library may need of the host's C library:
 * nothing that is newer than it, nothing that it has for older programs under another version, nothing that is
 * glibc's own. Names of one C library mean other structs in another one, so a library for the other one is refused
 * before any symbol is bound. */

#include <stdlib.h>

#include "link/shared/libc.h"
#include "link/shared/shared.h"

#define FAIL TN__SHARED_FAIL

enum { VERSION_NUMBERS = 0x8000 };

/* ---- the C library ---- */

static int fail_libc(const struct tn__shared_reader *r, const char *needs, const char *of)
{
    return tn__fail(r->err, TN_ENOTSUP, "%s: was made for %s (it needs %s), and this program has %s", r->object->name,
                    of, needs, tn__libc_name());
}

static int check_files(const struct tn__shared_reader *r)
{
    const struct tn__shared *shared = r->shared;
    const char *of = shared->soname ? tn__libc_of(shared->soname) : NULL;
    if (of)
        return tn__fail(r->err, TN_ENOTSUP, "%s: is a part of %s (%s), which a program has once, from its start",
                        r->object->name, of, shared->soname);
    for (size_t i = 0; i < shared->needed_count; i++)
        if ((of = tn__libc_of(shared->needed[i])) && strcmp(of, tn__libc_name()))
            return fail_libc(r, shared->needed[i], of);
    return 0;
}

/* ---- numbers of versions ---- */

static const char *const prefix = "GLIBC_";

/* Compares "2.34" with "2.2.5", number by number. */
static int compare(const char *a, const char *b)
{
    while (*a || *b) {
        char *a_end, *b_end;
        unsigned long x = strtoul(a, &a_end, 10), y = strtoul(b, &b_end, 10);
        if (x != y)
            return x < y ? -1 : 1;
        if (a_end == a && b_end == b)
            return strcmp(a, b);
        a = a_end + (*a_end == '.');
        b = b_end + (*b_end == '.');
    }
    return 0;
}

/* Functions of which glibc has an older one for older programs; a program that is linked now gets the newer one. */
static const struct {
    const char *name, *since;
} changed[] = {
    {"exp", "2.29"},
    {"exp10", "2.39"},
    {"exp10f", "2.32"},
    {"exp2", "2.29"},
    {"exp2f", "2.27"},
    {"expf", "2.27"},
    {"fmemopen", "2.22"},
    {"fmod", "2.38"},
    {"fmodf", "2.38"},
    {"glob", "2.27"},
    {"glob64", "2.27"},
    {"hypot", "2.35"},
    {"hypotf", "2.35"},
    {"lgamma", "2.23"},
    {"lgammaf", "2.23"},
    {"lgammal", "2.23"},
    {"lio_listio", "2.34"},
    {"lio_listio64", "2.34"},
    {"log", "2.29"},
    {"log2", "2.29"},
    {"log2f", "2.27"},
    {"logf", "2.27"},
    {"memcpy", "2.14"},
    {"nftw", "2.3.3"},
    {"nftw64", "2.3.3"},
    {"posix_spawn", "2.15"},
    {"posix_spawnp", "2.15"},
    {"pow", "2.29"},
    {"powf", "2.27"},
    {"pthread_attr_setaffinity_np", "2.32"},
    {"pthread_cond_broadcast", "2.3.2"},
    {"pthread_cond_destroy", "2.3.2"},
    {"pthread_cond_init", "2.3.2"},
    {"pthread_cond_signal", "2.3.2"},
    {"pthread_cond_timedwait", "2.3.2"},
    {"pthread_cond_wait", "2.3.2"},
    {"pthread_getaffinity_np", "2.32"},
    {"pthread_kill", "2.34"},
    {"quick_exit", "2.24"},
    {"realpath", "2.3"},
    {"regexec", "2.3.4"},
    {"sched_getaffinity", "2.3.4"},
    {"sched_setaffinity", "2.3.4"},
    {"timer_create", "2.34"},
    {"timer_delete", "2.34"},
    {"timer_getoverrun", "2.34"},
    {"timer_gettime", "2.34"},
    {"timer_settime", "2.34"},
};

/* From which version on the host has another function of this name than this one; NULL: it has this one. */
static const char *changed_since(const char *name, const char *version)
{
    for (size_t i = 0; i < TN_COUNT(changed); i++)
        if (!strcmp(changed[i].name, name) && compare(version, changed[i].since) < 0 &&
            compare(changed[i].since, tn__libc_version()) <= 0)
            return changed[i].since;
    return NULL;
}

/* ---- needs ---- */

static int check_symbol(const struct tn__shared_reader *r, const char *name, const char *version)
{
    /* Marks of features, which have no symbols: compact relocations are read. */
    if (strncmp(version, prefix, strlen(prefix)))
        return 0;
    const char *host = tn__libc_version(), *number = version + strlen(prefix);
    if (!host)
        return fail_libc(r, version, "glibc");
    if (!strcmp(number, "PRIVATE"))
        return tn__fail(r->err, TN_ENOTSUP, "%s: uses '%s' of %s, which only parts of glibc itself may",
                        r->object->name, name, version);
    if (*number < '0' || *number > '9')
        return 0;
    if (compare(number, host) > 0)
        return tn__fail(r->err, TN_EUNDEF, "%s: needs '%s' of %s; the glibc of this program is %s", r->object->name,
                        name, version, host);
    const char *since = changed_since(name, number);
    return since ? tn__fail(r->err, TN_EUNDEF, "%s: needs '%s' of %s; this program has that of GLIBC_%s",
                            r->object->name, name, version, since)
                 : 0;
}

static int check_symbols(const struct tn__shared_reader *r)
{
    int code = 0;
    for (uint32_t i = 1; r->versym && i < r->file_symbols && !code; i++) {
        const struct tn__symbol *symbol = &r->object->symbols[i];
        uint16_t number = r->is_used[i] ? tn__get16(r->versym + (size_t)i * 2) & (VERSION_NUMBERS - 1) : 0;
        bool is_undefined = symbol->place == TN__PLACE_UNDEFINED && *symbol->name;
        if (is_undefined && number < r->version_count && r->versions[number] && symbol->binding != TN__BIND_WEAK)
            code = check_symbol(r, symbol->name, r->versions[number]);
    }
    return code;
}

int tn__shared_check_needs(struct tn__shared_reader *r)
{
    int code = check_files(r);
    return code ? code : check_symbols(r);
}

/* ---- tables ---- */

/* A list of entries, each of which says how far the next one is: 0 ends it. Further ones lie behind, so the list has no
 * more entries than the file has space. */
struct chain {
    const struct tn__shared_reader *r;
    uint64_t at;
    uint32_t size; /* of an entry's fixed part */
};

static const uint8_t *entry_at(const struct chain *chain)
{
    return tn__shared_at(chain->r->shared, chain->r->object, chain->at, chain->size);
}

/* False: there is no further one, or it lies before the end of this one. */
static bool go_on(struct chain *chain, uint32_t distance)
{
    chain->at += distance;
    return distance >= chain->size;
}

static int fail_versions(const struct tn__shared_reader *r)
{
    return FAIL(r, "%s: its tables of versions leave the file", r->object->name);
}

static int note_version(struct tn__shared_reader *r, uint16_t number, uint32_t name)
{
    const char *text = tn__shared_string(r, name);
    if (!text)
        return fail_versions(r);
    if ((number & (VERSION_NUMBERS - 1)) < r->version_count)
        r->versions[number & (VERSION_NUMBERS - 1)] = text;
    return 0;
}

/* The name of a definition is the first of its auxiliary entries. */
static int read_definitions(struct tn__shared_reader *r)
{
    struct chain chain = {r, r->tags[TN__DT_VERDEF], sizeof(Elf64_Verdef)};
    Elf64_Verdef entry = {0};
    int code = 0;
    do {
        const uint8_t *bytes = entry_at(&chain);
        if (!bytes)
            return fail_versions(r);
        memcpy(&entry, bytes, sizeof entry);
        const uint8_t *first = tn__shared_at(r->shared, r->object, chain.at + entry.vd_aux, sizeof(Elf64_Verdaux));
        code = first ? note_version(r, entry.vd_ndx, tn__get32(first)) : fail_versions(r);
    } while (!code && go_on(&chain, entry.vd_next));
    return code;
}

/* The versions that are needed of one file; *left: so many entries may still follow in all. */
static int read_needs_of(struct tn__shared_reader *r, uint64_t at, uint64_t *left)
{
    struct chain chain = {r, at, sizeof(Elf64_Vernaux)};
    Elf64_Vernaux entry = {0};
    int code = 0;
    do {
        const uint8_t *bytes = entry_at(&chain);
        if (!bytes || !*left)
            return fail_versions(r);
        --*left;
        memcpy(&entry, bytes, sizeof entry);
        code = note_version(r, entry.vna_other, entry.vna_name);
    } while (!code && go_on(&chain, entry.vna_next));
    return code;
}

static int read_needs(struct tn__shared_reader *r)
{
    struct chain chain = {r, r->tags[TN__DT_VERNEED], sizeof(Elf64_Verneed)};
    Elf64_Verneed entry = {0};
    uint64_t left = r->object->size / sizeof(Elf64_Vernaux);
    int code = 0;
    do {
        const uint8_t *bytes = entry_at(&chain);
        if (!bytes)
            return fail_versions(r);
        memcpy(&entry, bytes, sizeof entry);
        if (entry.vn_cnt)
            code = read_needs_of(r, chain.at + entry.vn_aux, &left);
    } while (!code && go_on(&chain, entry.vn_next));
    return code;
}

int tn__shared_read_versions(struct tn__shared_reader *r)
{
    int code = 0;
    bool defines = r->tags[TN__DT_VERDEF] && r->tags[TN__DT_VERDEFNUM],
         needs = r->tags[TN__DT_VERNEED] && r->tags[TN__DT_VERNEEDNUM];
    for (uint32_t i = 0; r->versym && i < r->file_symbols; i++)
        r->version_count =
            tn__max64(r->version_count, (tn__get16(r->versym + (size_t)i * 2) & (VERSION_NUMBERS - 1U)) + 1U);
    r->versions = tn__arena_array(&r->object->arena, r->version_count, sizeof(const char *));
    if (!r->versions)
        return tn__no_memory(r->err, r->object->name);
    if (defines)
        code = read_definitions(r);
    return code || !needs ? code : read_needs(r);
}
