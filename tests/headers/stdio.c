/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ssize_t reverse(void *cookie, const char *text, size_t size)
{
    (void)cookie;
    for (size_t i = size; i > 0; i--)
        putchar(text[i - 1]);
    return (ssize_t)size;
}

int main(void)
{
    FILE *file = tmpfile();
    fprintf(file, "%5d|%-8s|%+.3e|%#x|%c|%%|%*d\n", 42, "text", 3.14159, 255, 'z', 6, 7);
    fputs("second line\n", file);
    putc('!', file);
    rewind(file);
    char line[100], word[20];
    int number;
    printf("%s", fgets(line, sizeof line, file));
    printf("%d ", fscanf(file, "%19s", word));
    printf("%s ", word);
    printf("%d\n", fgetc(file));
    ungetc('Q', file);
    printf("%c ", getc(file));
    printf("%ld\n", ftell(file));
    fseek(file, -1, SEEK_END);
    printf("%zu ", fread(line, 1, 10, file));
    printf("%c ", line[0]);
    printf("%d\n", feof(file) != 0);
    fclose(file);

    char *text = NULL;
    size_t size = 0;
    file = open_memstream(&text, &size);
    for (int i = 0; i < 1000; i++)
        fprintf(file, "%d,", i);
    fclose(file);
    printf("%zu %.10s\n", size, text);
    file = fmemopen(text, size, "r");
    char *row = NULL;
    size_t capacity = 0;
    printf("%zd\n", getdelim(&row, &capacity, ',', file));
    printf("%d ", fscanf(file, "%d", &number));
    printf("%d\n", number);
    fclose(file);
    free(row);
    free(text);

    file = fopencookie(NULL, "w", (cookie_io_functions_t){.write = reverse});
    fputs("\ncba", file);
    fclose(file);
    printf("%d ", sscanf("key=17", "key=%d", &number));
    printf("%s\n", asprintf(&text, "<%d>", number) > 0 ? text : "?");
    free(text);
    file = popen("echo from a shell", "r");
    printf("%s", fgets(line, sizeof line, file));
    printf("%d\n", pclose(file));
    fflush(stdout);
    dprintf(1, "%s\n", "to a descriptor");
    setvbuf(stdout, NULL, _IOLBF, 0);
    fprintf(stderr, "to stderr %d\n", 1);
    puts("done");
    return 3;
}
