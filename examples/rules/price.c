/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Calls another rule, which is therefore loaded too. */

int discount(int amount);
void host_say(const char *text);

int price(int amount)
{
    host_say("a price is asked for");
    return amount - discount(amount);
}
