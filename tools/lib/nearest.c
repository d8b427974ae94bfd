/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a word that the command does not know may have been. */

#include <string.h>

#include "base/base.h"
#include "lib/tool.h"

enum { LONGEST = 40 };

static size_t least(size_t a, size_t b, size_t c)
{
    size_t less = a < b ? a : b;
    return less < c ? less : c;
}

/* How many letters have to be inserted, removed, replaced or exchanged with the next one ("optimal string alignment").
 * Neither text is longer than LONGEST. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][LONGEST + 1];
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            bool differ = a[i - 1] != b[j - 1];
            row[j] = least(above[j] + 1, row[j - 1] + 1, above[j - 1] + differ);
            bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (exchanged && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
    }
    return rows[a_length % 3][b_length];
}

/* Letters of options alone are similar to all of their kind. A word that was begun is meant. */
void tool_consider(struct nearest *nearest, const char *candidate)
{
    enum { SHORTEST = 3 };
    size_t size = strlen(candidate), length = nearest->length, most = (length + 1) / 3;
    if (size < SHORTEST || length < SHORTEST || size > LONGEST || length > LONGEST)
        return;
    bool is_begun = strncmp(nearest->word, candidate, length) == 0 && nearest->word[length - 1] != '-';
    size_t away = is_begun ? 1 : distance(nearest->word, length, candidate, size);
    if (away > most || (nearest->found && away >= nearest->distance))
        return;
    nearest->found = candidate;
    nearest->distance = away;
}

int tool_unknown(const char *kind, const struct nearest *nearest, const char *topic)
{
    bool found = nearest->found;
    return tool_fail(STATUS_USAGE, "unknown %s '%s'; %s%s%s'tenon help%s%s' lists the %ss", kind, nearest->word,
                     found ? "did you mean '" : "", found ? nearest->found : "", found ? "'? " : "", *topic ? " " : "",
                     topic, *topic ? "option" : "command");
}
