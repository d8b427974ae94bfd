/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The threads of this process, as /proc/self/task lists them. */

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "faults.h"
#include "os.h"

int tn__os_each_thread(bool (*visit)(void *context, uint32_t thread), void *context)
{
    int fault = tn__os_fault(false, NULL);
    DIR *list = fault ? NULL : opendir("/proc/self/task");
    if (!list)
        return fault ? fault : errno;
    for (struct dirent *entry = readdir(list); entry; entry = readdir(list))
        if (*entry->d_name != '.' && !visit(context, (uint32_t)strtoul(entry->d_name, NULL, 10)))
            break;
    closedir(list);
    return 0;
}

bool tn__os_is_own_thread(uint32_t thread)
{
    char path[64], name[32];
    snprintf(path, sizeof path, "/proc/self/task/%" PRIu32 "/comm", thread);
    return !tn__os_read_text(path, name, sizeof name) && strcmp(name, TN__OWN_THREAD_NAME "\n") == 0;
}
