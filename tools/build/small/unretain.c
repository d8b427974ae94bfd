/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* unretain OUT ARCHIVE...: writes the members of the archives that hold functions marked SHF_GNU_RETAIN to the archive
 * OUT, with that mark taken off. Given to the linker ahead of the archives, OUT provides what its members define.
 *
 * LLVM marks the functions that its developers call from a debugger, all those named dump, as used. Where a member is
 * linked, --gc-sections has to keep them with everything they lead to. Data keep the mark: nothing says who looks for
 * them.
 *
 * OUT has no index (ld.lld reads the members' own symbol tables) and names in the manner of BSD, which need no
 * table. */

#include <ar.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef SHF_GNU_RETAIN
#define SHF_GNU_RETAIN (1 << 21)
#endif

static int fail(const char *path, const char *what)
{
    fprintf(stderr, "unretain: %s: %s\n", path, what);
    return 1;
}

/* Takes the mark off the functions in `image`, the bytes of `object`. Returns how many bore it. */
static size_t clear_marks(Elf *object, const GElf_Ehdr *header, char *image)
{
    size_t cleared = 0;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(object, section));) {
        GElf_Shdr found;
        if (!gelf_getshdr(section, &found) || !(found.sh_flags & SHF_GNU_RETAIN) || !(found.sh_flags & SHF_EXECINSTR))
            continue;
        uint64_t flags = found.sh_flags & ~(uint64_t)SHF_GNU_RETAIN;
        size_t at = header->e_shoff + elf_ndxscn(section) * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_flags);
        memcpy(image + at, &flags, sizeof flags);
        cleared++;
    }
    return cleared;
}

/* Room for `size` bytes behind a member's header, up to the next multiple of 8. */
static size_t pad(size_t size)
{
    return (sizeof(struct ar_hdr) + size + 7) / 8 * 8 - sizeof(struct ar_hdr);
}

static int write_member(FILE *out, const char *name, const char *image, size_t size)
{
    static const char zeros[8];
    size_t length = strlen(name), named = pad(length), total = pad(named + size);
    fprintf(out, "#1/%-13zu%-12d%-6d%-6d%-8o%-10zu%s", named, 0, 0, 0, 0644, total, ARFMAG);
    fwrite(name, 1, length, out);
    fwrite(zeros, 1, named - length, out);
    fwrite(image, 1, size, out);
    fwrite(zeros, 1, total - named - size, out);
    return ferror(out);
}

static int copy_member(FILE *out, const char *archive, Elf *member)
{
    char name[256];
    GElf_Ehdr header;
    size_t size;
    const Elf_Arhdr *entry = elf_getarhdr(member);
    /* The index and the table of long names are no objects. */
    if (!entry || elf_kind(member) != ELF_K_ELF || gelf_getclass(member) != ELFCLASS64 ||
        !gelf_getehdr(member, &header))
        return 0;
    /* Link maps go on to tell where a member came from. */
    snprintf(name, sizeof name, "%s(%s)", strrchr(archive, '/') ? strrchr(archive, '/') + 1 : archive, entry->ar_name);
    const char *bytes = elf_rawfile(member, &size);
    char *image = bytes ? malloc(size) : NULL;
    if (!image)
        return 1;
    memcpy(image, bytes, size);
    int failed = clear_marks(member, &header, image) && write_member(out, name, image, size);
    free(image);
    return failed;
}

static int copy_archive(FILE *out, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), failed = 0;
    Elf *archive = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (elf_kind(archive) != ELF_K_AR)
        failed = fail(path, "is no archive");
    for (Elf_Cmd next = ELF_C_READ_MMAP; !failed && next != ELF_C_NULL;) {
        Elf *member = elf_begin(fd, next, archive);
        if (!member)
            break;
        if (copy_member(out, path, member))
            failed = fail(path, "a member cannot be copied");
        next = elf_next(member);
        elf_end(member);
    }
    elf_end(archive);
    if (fd >= 0)
        close(fd);
    return failed;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    FILE *out = fopen(argv[1], "we");
    if (!out || elf_version(EV_CURRENT) == EV_NONE)
        return fail(argv[1], "cannot be written");
    fputs("!<arch>\n", out);
    int failed = 0;
    for (int i = 2; i < argc && !failed; i++)
        failed = copy_archive(out, argv[i]);
    if (fclose(out) && !failed)
        failed = fail(argv[1], "cannot be written");
    return failed;
}
