/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Another plugin, with data of its own and the same entry. */

void host_say(const char *text);

static const char *const words[] = {"squaring", "squaring once more"};
static int calls;

int plugin_start(int number)
{
    host_say(words[calls++ > 0]);
    return number * number;
}
