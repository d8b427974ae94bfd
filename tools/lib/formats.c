/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The formats of objects that the tool takes. */

#include <string.h>

#include "lib/tool.h"
#include "link/arch/reloc.h"
#include "link/format/object.h"

#define FORMATS                                                                                                        \
    &tn_format_elf_x86_64, &tn_format_elf_aarch64, &tn_format_elf_riscv64, &tn_format_macho_x86_64,                    \
        &tn_format_macho_aarch64, &tn_format_coff_x86_64, &tn_format_coff_aarch64

const struct tn_format *const tool_formats[] = {FORMATS, NULL};
const struct tn_format *const tool_seen_formats[] = {FORMATS, &tn__format_elf_any, NULL};

/* That of the first file that is an object; *format is NULL if none is. */
static bool find_format(const struct settings *settings, const struct tn_format **format)
{
    for (int i = 0; i < settings->item_count; i++) {
        struct file file;
        if (settings->items[i].option || !strcmp(settings->items[i].value, "-"))
            continue;
        if (!tool_read(settings->items[i].value, &file))
            return false; /* which has been reported */
        *format = tn__format_of(tool_formats, file.bytes, file.size);
        if (*format)
            return true;
    }
    *format = NULL;
    return true;
}

char tool_c_prefix(const struct settings *settings)
{
    const struct tn_format *format;
    return find_format(settings, &format) && format ? format->reader->c_prefix : 0;
}

static const struct tn_format *const *formats_of(const struct tn__arch *arch)
{
    static const struct tn_format *chosen[TN_COUNT(tool_formats)];
    size_t count = 0;
    for (const struct tn_format *const *format = tool_formats; *format; format++)
        if ((*format)->arch == arch)
            chosen[count++] = *format;
    chosen[count] = NULL;
    return count ? chosen : NULL;
}

const struct tn_format *const *tool_formats_for(const struct settings *settings)
{
    const struct tn_format *first = NULL;
    if (settings->noexec && !find_format(settings, &first))
        return NULL;
    return formats_of(first ? first->arch : tn__arch_host);
}

const struct tn_format *const *tool_formats_in(const void *bytes, size_t size)
{
    static const char magic[] = {0x7f, 'E', 'L', 'F'};
    const uint8_t *elf = memmem(bytes, size, magic, sizeof magic), *end = (const uint8_t *)bytes + size;
    const struct tn_format *format = elf ? tn__format_of(tool_formats, elf, (size_t)(end - elf)) : NULL;
    return formats_of(format ? format->arch : tn__arch_host);
}
