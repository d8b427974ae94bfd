/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A static host of C++ plugins, which use the C++ library of the host: table.c names all of it (see the Makefile). */

#include <iostream>
#include <stdexcept>
#include <string>

#include <tenon.h>

extern "C" const tn_symbol_table tn_host_symbols; /* of table.c */

extern "C" int host_price(const char *article)
{
    if (std::string(article) == "tea")
        return 3;
    throw std::out_of_range("no " + std::string(article));
}
TN_EXPORT(host_price);

namespace {

using function = int (*)(const char *order);

/* Objects of the plugin, exceptions too, are gone when this is destroyed. */
struct plugin {
    tn_session *session = nullptr;
    function total = nullptr;
    explicit plugin(const char *path)
    {
        tn_error err;
        tn_library *library;
        void *address;
        if (tn_session_create(nullptr, &session, &err) || tn_library_create(session, "plugin", &library, &err) ||
            tn_add_resolver(library, tn_resolve_exports, nullptr, &err) ||
            tn_add_resolver(library, tn_resolve_table, const_cast<tn_symbol_table *>(&tn_host_symbols), &err) ||
            tn_add_file(library, path, &err) || tn_lookup(library, "plugin_total", &address, &err)) {
            tn_session_destroy(session);
            throw std::runtime_error(err.text);
        }
        total = reinterpret_cast<function>(address);
    }
    ~plugin()
    {
        tn_session_destroy(session);
    }
    plugin(const plugin &) = delete;
    plugin &operator=(const plugin &) = delete;
};

void order(const plugin &plugin, const char *text)
{
    try {
        int total = plugin.total(text);
        std::cout << "host: " << text << " cost " << total << std::endl;
    } catch (const std::invalid_argument &error) {
        std::cout << "host: the plugin refuses " << error.what() << std::endl;
    }
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2)
        return std::cerr << "usage: host PLUGIN.o\n", 2;
    try {
        plugin plugin(argv[1]);
        order(plugin, "tea tea coffee");
        order(plugin, "coffee cake");
    } catch (const std::exception &error) {
        return std::cerr << "host: " << error.what() << "\n", 1;
    }
    return 0;
}
