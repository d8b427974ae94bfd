/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A small `sqlite3`: runs the SQL on standard input and prints rows as the command does in list mode. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

/* All of `in` as one NUL-terminated string, or NULL. */
static char *read_all(FILE *in)
{
    size_t size = 0, capacity = 1 << 16;
    char *text = malloc(capacity);
    while (text) {
        size += fread(text + size, 1, capacity - size - 1, in);
        if (size < capacity - 1)
            break;
        char *more = realloc(text, capacity *= 2);
        if (!more)
            free(text);
        text = more;
    }
    if (text)
        text[size] = '\0';
    return text;
}

static int print_row(void *context, int count, char **values, char **names)
{
    (void)context, (void)names;
    for (int i = 0; i < count; i++)
        printf("%s%s", i ? "|" : "", values[i] ? values[i] : "");
    putchar('\n');
    return 0;
}

int main(int argc, char **argv)
{
    sqlite3 *db;
    char *message = NULL, *sql = read_all(stdin);
    if (!sql || sqlite3_open(argc > 1 ? argv[1] : ":memory:", &db) != SQLITE_OK)
        return 1;
    int rc = sqlite3_exec(db, sql, print_row, NULL, &message);
    if (rc != SQLITE_OK)
        fprintf(stderr, "Error: %s\n", message ? message : sqlite3_errstr(rc));
    sqlite3_free(message);
    free(sql);
    return sqlite3_close(db) != SQLITE_OK || rc != SQLITE_OK;
}
