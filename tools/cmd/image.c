/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon image: changes files of saved objects; checks images. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/image_check.h"
#include "lib/tool.h"
#include "tenon_save.h"

int command_image(struct settings *settings)
{
    struct tn_error error;
    uint64_t base = 0;
    bool checks = settings->file_count && strcmp(settings->files[0], "check") == 0;
    if (checks && (settings->output || settings->base || settings->base_salt))
        return tool_fail(STATUS_USAGE, "-o, --base and --base-salt are for rebase");
    if (checks)
        return command_image_check(settings);
    if (settings->cpu || settings->runtime || tool_has_item(settings, "--program") || tool_has_item(settings, "--type"))
        return tool_fail(STATUS_USAGE, "--cpu, --program, --runtime and --type are for check");
    if (settings->file_count != 2 || strcmp(settings->files[0], "rebase") != 0)
        return tool_fail(STATUS_USAGE, "rebase, and one file, or check, and files");
    if (!settings->output || strcmp(settings->output, "-") == 0)
        return tool_fail(STATUS_USAGE, "the file to write is missing (-o)");
    if (settings->base && settings->base_salt)
        return tool_fail(STATUS_USAGE, "--base and --base-salt exclude each other");
    if (settings->base && !tool_number("--base", settings->base, &base))
        return STATUS_USAGE;
    if (settings->base && !base)
        return tool_fail(STATUS_USAGE, "option '--base': 0 is no address");
    if (tn_save_rebase(settings->files[1], settings->output, settings->base_salt, &base, &error))
        return tool_fail(STATUS_FAILURE, "%s", error.text);
    printf("0x%" PRIx64 "\n", base);
    return STATUS_OK;
}
