/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon cache: looks at folders in which `tenon run --cache` and products keep compiled code. */

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "lib/tool.h"
#include "tenon_cache.h"

struct report {
    bool shows; /* a line for each pack, or for those that are damaged */
    uint64_t packs, objects, bytes, damaged;
};

static int report_file(void *context, const struct tn_cache_file *file)
{
    struct report *report = context;
    time_t used = (time_t)file->used;
    struct tm when;
    char date[20] = "?";
    if (gmtime_r(&used, &when))
        strftime(date, sizeof date, "%Y-%m-%d %H:%M", &when);
    report->packs++;
    report->objects += file->objects;
    report->bytes += file->bytes;
    report->damaged += !file->is_sound;
    if (report->shows || !file->is_sound)
        printf("%s  %10" PRIu64 " bytes  %6" PRIu64 " objects  %s%s\n", file->name, file->bytes, file->objects, date,
               file->is_sound ? "" : "  damaged");
    return 0;
}

static int report_all(struct tn_store *store, bool shows)
{
    struct report report = {.shows = shows};
    struct tn_error error;
    if (tn_store_each_file(store, report_file, &report, &error))
        return tool_fail(STATUS_FAILURE, "%s", error.text);
    printf("%" PRIu64 " packs, %" PRIu64 " objects, %" PRIu64 " bytes, %" PRIu64 " damaged\n", report.packs,
           report.objects, report.bytes, report.damaged);
    return report.damaged && !shows ? STATUS_FAILURE : STATUS_OK;
}

static int prune(struct tn_store *store, size_t limit)
{
    uint64_t removed;
    struct tn_error error;
    if (tn_store_prune(store, limit, &removed, &error))
        return tool_fail(STATUS_FAILURE, "%s", error.text);
    printf("%" PRIu64 " files removed\n", removed);
    return STATUS_OK;
}

int command_cache(struct settings *settings)
{
    const char *action = settings->files[0];
    bool prunes = strcmp(action, "prune") == 0, shows = strcmp(action, "show") == 0;
    size_t limit = SIZE_MAX;
    struct tn_store *store;
    struct tn_error error;
    if (settings->file_count != 2 || (!prunes && !shows && strcmp(action, "verify") != 0))
        return tool_fail(STATUS_USAGE, "one of show, verify and prune, and one folder");
    if (!tool_take_number("--limit", settings->limit, 0, SIZE_MAX, &limit))
        return STATUS_USAGE;
    tool_quote_output();
    struct tn_folder_options options = {.size = sizeof options, .path = settings->files[1], .read_only = 1};
    int code = tn_store_open_folder(&options, &store, &error);
    if (!code && prunes) { /* to write, which would make a folder that is not there */
        tn_store_close_folder(store);
        options.read_only = 0;
        code = tn_store_open_folder(&options, &store, &error);
    }
    if (code)
        return tool_fail(STATUS_FAILURE, "%s", error.text);
    int status = prunes ? prune(store, limit) : report_all(store, shows);
    tn_store_close_folder(store);
    return status;
}
