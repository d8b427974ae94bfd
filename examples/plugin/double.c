/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A plugin: any C file, compiled with -c. */

extern int host_version;
void host_say(const char *text);

int plugin_start(int number)
{
    host_say(host_version >= 3 ? "doubling" : "this host is too old");
    return number * 2;
}
