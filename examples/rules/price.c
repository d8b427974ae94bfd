/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Calls another rule, so that one is read, too. */

int discount(int amount);
void host_say(const char *text);

int price(int amount)
{
    host_say("a price is asked for");
    return amount - discount(amount);
}
