# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The pattern of doc/EMBEDDING.md for hosts in C++: a plugin throws an exception of its own through a host that owns the
# session by RAII. The code of the page is compiled as it stands there.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: "${CXX:=g++}" "${BUILD:=build}"

{
    printf '#include <cstdio>\n#include <stdexcept>\n#include <string>\n#include <tenon.h>\n'
    printf 'struct session_owner;\nvoid start_plugin(session_owner &owner, const char *path);\n'
    sed -n '/^```cpp$/,/^```$/p' doc/EMBEDDING.md | sed -n '/^struct session_owner/,/^```$/p' | grep -v '^```'
    cat <<'END'
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

some "the page has the pattern" "$(grep 'failure = error.what()' "$work/host.cpp")"
succeeds "it compiles" "$CXX" -Wall -Wextra -Werror -O1 -Iinclude "$work/host.cpp" "$BUILD/libtenon.a" -lelf -lz \
    -o "$work/host"
for name in plugin missing; do
    succeeds "$name compiles" "$CXX" -O1 -fPIC -c "$work/$name.cpp" -o "$work/$name.o"
done
some "an exception of the plugin arrives as one of the host" \
    "$("$work/host" "$work/plugin.o" 2>&1 | grep -x 'failed: told by code of the plugin')"
some "so does an error of the link" "$("$work/host" "$work/missing.o" 2>&1 | grep -x 'failed: undefined symbols:')"
