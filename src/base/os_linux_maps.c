/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The mappings of this process, as /proc/self/maps lists them: "start-end ..." in each line. */

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "faults.h"
#include "os.h"

/* A line is read digit by digit, so that it may be cut anywhere. */
struct line {
    uint64_t numbers[2];
    unsigned number; /* that is being read; 2: the rest of the line is skipped */
};

static bool read_char(struct line *line, char c, bool (*visit)(void *context, uint64_t start, uint64_t end),
                      void *context)
{
    if (c == '\n') {
        *line = (struct line){.number = 0};
    } else if (line->number < 2 && ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
        line->numbers[line->number] = line->numbers[line->number] * 16 + (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    } else if (line->number < 2 && ++line->number == 2) {
        return visit(context, line->numbers[0], line->numbers[1]);
    }
    return true;
}

int tn__os_each_mapping(bool (*visit)(void *context, uint64_t start, uint64_t end), void *context)
{
    char text[4096];
    struct line line = {.number = 0};
    int error = tn__os_fault(false, NULL);
    int fd = error ? -1 : open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error ? error : ENOENT;
    bool more = true;
    for (ssize_t size = 1; size && more && !error;) {
        size = read(fd, text, sizeof text);
        if (size < 0 && errno != EINTR)
            error = errno;
        for (ssize_t i = 0; i < size && more; i++)
            more = read_char(&line, text[i], visit, context);
    }
    close(fd);
    return error ? error : more ? 0 : ENOMEM;
}
