/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The program around throws.cpp. */

int puts(const char *);
int run(void);

void note(const char *text)
{
    puts(text);
}

int main(void)
{
    int first = run();
    return first == 511 && run() == 512 ? 3 : 4;
}
