/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The formats of objects that the tool takes. */

#include <string.h>

#include "lib/tool.h"
#include "link/arch/reloc.h"
#include "link/model/object.h"

#define FORMATS                                                                                                        \
    &tn_format_elf_x86_64, &tn_format_elf_aarch64, &tn_format_elf_riscv64, &tn_format_macho_x86_64,                    \
        &tn_format_macho_aarch64, &tn_format_coff_x86_64, &tn_format_coff_aarch64

const struct tn_format *const tool_formats[] = {FORMATS, NULL};
const struct tn_format *const tool_seen_formats[] = {FORMATS, &tn__format_elf, NULL};

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

/* The formats for the machine of --triple, which Apple may call arm64; without --triple, all of them. */
static const struct tn_format *const *wanted_formats(const struct settings *settings)
{
    static const char arm64[] = "arm64";
    if (!settings->triple)
        return tool_formats;
    size_t length = strcspn(settings->triple, "-");
    bool is_arm64 = length == sizeof arm64 - 1 && !memcmp(settings->triple, arm64, length);
    const struct tn_cpu_arch *wanted = tn_cpu_arch_find(is_arm64 ? "aarch64" : settings->triple);
    for (const struct tn_format *const *format = tool_formats; wanted && *format; format++)
        if (tn_cpu_arch_find((*format)->arch->triple) == wanted)
            return formats_of((*format)->arch);
    return tool_fail(STATUS_USAGE, "unknown architecture '%s'", settings->triple), NULL;
}

/* The format of the first file that is an object, or has a part that is one, for the machine of --triple; *format is
 * NULL if there is none. False: an error has been reported. */
static bool find_format(const struct settings *settings, const struct tn_format **format)
{
    const struct tn_format *const *formats = wanted_formats(settings);
    *format = NULL;
    for (int i = 0; formats && !*format && i < settings->item_count; i++) {
        struct file file;
        if (settings->items[i].option || !strcmp(settings->items[i].value, "-"))
            continue;
        if (!tool_read(settings->items[i].value, &file))
            return false;
        *format = tn__format_of(formats, file.bytes, file.size);
    }
    return formats;
}

char tool_c_prefix(const struct settings *settings)
{
    const struct tn_format *format;
    return find_format(settings, &format) && format ? format->reader->c_prefix : 0;
}

bool tool_is_for_host(const struct settings *settings)
{
    const struct tn_format *format;
    return find_format(settings, &format) && (!format || format->arch == tn__arch_host);
}

const struct tn_format *const *tool_formats_for(const struct settings *settings)
{
    const struct tn_format *first = NULL;
    if (settings->noexec && !find_format(settings, &first))
        return NULL;
    if (!first && settings->noexec && settings->triple)
        return wanted_formats(settings);
    return formats_of(first ? first->arch : tn__arch_host);
}

const struct tn_format *const *tool_formats_to_run(const struct settings *settings)
{
    static const struct tn_format *formats[TN_COUNT(tool_formats) + 1] = {&tn_format_elf_shared_x86_64};
    const struct tn_format *const *others = tool_formats_for(settings);
    if (!others || others[0] != &tn_format_elf_x86_64)
        return others;
    for (size_t i = 0; others[i]; i++)
        formats[i + 1] = others[i];
    return formats;
}

const struct tn_format *const *tool_formats_in(const void *bytes, size_t size)
{
    static const char magic[] = {0x7f, 'E', 'L', 'F'};
    const uint8_t *elf = memmem(bytes, size, magic, sizeof magic), *end = (const uint8_t *)bytes + size;
    const struct tn_format *format = elf ? tn__format_of(tool_formats, elf, (size_t)(end - elf)) : NULL;
    return formats_of(format ? format->arch : tn__arch_host);
}
