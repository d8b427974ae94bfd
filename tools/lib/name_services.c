/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Name services for loaded programs. /etc/nsswitch.conf may name services that are shared objects (systemd, db, ldap);
 * a static glibc would load them into this process with a second libc, and those that have thread-local variables crash
 * there. So lookups go to what is built in: files and DNS. */

#include "lib/tool.h"

/* <nss.h> of glibc declares it for modules only. */
int __nss_configure_lookup(const char *database, const char *services);

static const struct {
    const char *database, *services;
} built_in[] = {
    {"passwd", "files"},   {"group", "files"},     {"initgroups", "files"}, {"shadow", "files"},
    {"gshadow", "files"},  {"hosts", "files dns"}, {"networks", "files"},   {"protocols", "files"},
    {"services", "files"}, {"ethers", "files"},    {"rpc", "files"},        {"netgroup", "files"},
    {"aliases", "files"},  {"publickey", "files"},
};

void tool_use_built_in_name_services(void)
{
    for (size_t i = 0; i < sizeof built_in / sizeof built_in[0]; i++)
        __nss_configure_lookup(built_in[i].database, built_in[i].services);
}
