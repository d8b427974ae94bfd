# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The pattern of doc/EMBEDDING.md for hosts in C++: a plugin throws an exception of its own through a host that owns the
# session by RAII, and destroys the exception before the session.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: "${CXX:=g++}" "${BUILD:=build}"

{
    printf '#include <cstdio>\n#include <stdexcept>\n#include <string>\n#include <tenon.h>\n'
    printf 'struct session_owner;\nvoid start_plugin(session_owner &owner, const char *path);\n'
    cat <<'END'
struct session_owner {
    tn_session *session = nullptr;
    ~session_owner() { tn_session_destroy(session); }
};

void run_plugin(const char *path)
{
    session_owner owner;                     // destroyed when an exception leaves this function
    std::string failure;
    try {
        start_plugin(owner, path);           // creates the session, adds the file, calls the plugin
    } catch (const std::exception &error) {  // ends here, while the plugin's code is there
        failure = error.what();
    }
    if (!failure.empty())
        throw std::runtime_error(failure);   // of the program
}
void start_plugin(session_owner &owner, const char *path)
{
    tn_library *library;
    tn_error err;
    void *start;
    if (tn_session_create(nullptr, &owner.session, &err) ||
        tn_library_create(owner.session, "plugin", &library, &err) ||
        tn_add_resolver(library, tn_resolve_dlsym, nullptr, &err) || tn_add_file(library, path, &err) ||
        tn_lookup(library, "start", &start, &err))
        throw std::runtime_error(err.text);
    reinterpret_cast<void (*)()>(start)();
}
int main(int, char **argv)
{
    try {
        run_plugin(argv[1]);
    } catch (const std::exception &error) {
        std::printf("failed: %s\n", error.what());
        return 3;
    }
    return 4;
}
END
} >"$work/host.cpp"
cat >"$work/plugin.cpp" <<'END'
#include <exception>
struct plugin_error : std::exception {
    const char *what() const noexcept override { return "told by code of the plugin"; }
};
extern "C" void start() { throw plugin_error(); }
END
cat >"$work/missing.cpp" <<'END'
extern "C" void nowhere();
extern "C" void start() { nowhere(); }
END

succeeds "it compiles" "$CXX" -Wall -Wextra -Werror -O1 -Iinclude "$work/host.cpp" "$BUILD/libtenon.a" -lelf -lz \
    -o "$work/host"
for name in plugin missing; do
    succeeds "$name compiles" "$CXX" -O1 -fPIC -c "$work/$name.cpp" -o "$work/$name.o"
done
some "an exception of the plugin arrives as one of the host" \
    "$("$work/host" "$work/plugin.o" 2>&1 | grep -x 'failed: told by code of the plugin')"
some "so does an error of the link" "$("$work/host" "$work/missing.o" 2>&1 | grep -x 'failed: undefined symbols:')"
