# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The runtime alone, installed: what is there, and products built from it with pkg-config and CMake, for both libcs.

. tests/build/install_tree

unset LLVM_LINK
succeeds "it installs" install_tree tools/build/install.sh install
(PREFIX=$root tools/build/install.sh install musl) >/dev/null

none "the files are those of the runtime" "$(files "$root" | diff - <(sort <<'END'
include/tenon.h
include/tenon/base.h
include/tenon/define.h
include/tenon/dl.h
include/tenon/format.h
include/tenon/host.h
include/tenon/instance.h
include/tenon/lazy.h
include/tenon/library.h
include/tenon/lookup.h
include/tenon/materialize.h
include/tenon/memory.h
include/tenon/observe.h
include/tenon/session.h
include/tenon/thread.h
include/tenon/tracker.h
include/tenon_ahead.h
include/tenon_build.h
include/tenon_cache.h
include/tenon_compiler.h
include/tenon_cpu.h
include/tenon_heap.h
include/tenon_image.h
include/tenon_jit.h
include/tenon_managed.h
include/tenon_package.h
include/tenon_remote.h
include/tenon_save.h
lib/cmake/tenon/tenon-config-version.cmake
lib/cmake/tenon/tenon-config.cmake
lib/libtenon.a
lib/pkgconfig/tenon-musl.pc
lib/pkgconfig/tenon.pc
lib/tenon-musl/libtenon.a
share/doc/tenon/CHANGELOG.md
share/doc/tenon/LICENSE
share/doc/tenon/LICENSE.mimalloc
share/doc/tenon/README.md
share/doc/tenon/SECURITY.md
share/doc/tenon/doc/BASELINE.md
share/doc/tenon/doc/CACHE.md
share/doc/tenon/doc/COLLECTOR.md
share/doc/tenon/doc/COMPATIBILITY.md
share/doc/tenon/doc/CPU.md
share/doc/tenon/doc/DESIGN.md
share/doc/tenon/doc/EMBEDDING.md
share/doc/tenon/doc/FIGURES.md
share/doc/tenon/doc/GC.md
share/doc/tenon/doc/IMAGE.md
share/doc/tenon/doc/IR.md
share/doc/tenon/doc/LINKER.md
share/doc/tenon/doc/PORTING.md
share/doc/tenon/doc/PACKAGES.md
share/doc/tenon/doc/PASSES.md
share/doc/tenon/doc/REDIRECT.md
share/doc/tenon/doc/REMOTE.md
share/doc/tenon/doc/RELOCATIONS.md
share/doc/tenon/doc/SESSION.md
share/doc/tenon/doc/SHARED.md
share/doc/tenon/doc/TIERS.md
share/doc/tenon/doc/figures.svg
share/doc/tenon/doc/tutorial/1-plugin.md
share/doc/tenon/doc/tutorial/2-reload.md
share/doc/tenon/doc/tutorial/3-compile.md
share/doc/tenon/doc/tutorial/4-tiers.md
share/doc/tenon/doc/tutorial/5-collected.md
share/doc/tenon/doc/tutorial/6-image.md
share/doc/tenon/doc/tutorial/7-packages.md
share/doc/tenon/doc/tutorial/8-dowel.md
share/doc/tenon/examples/formulas/Makefile
share/doc/tenon/examples/formulas/formulas.c
share/doc/tenon/examples/heap/Makefile
share/doc/tenon/gc-report
share/doc/tenon/examples/heap/host.c
share/doc/tenon/examples/plugin/Makefile
share/doc/tenon/examples/plugin/double.c
share/doc/tenon/examples/plugin/host.c
share/doc/tenon/examples/plugin/square.c
share/doc/tenon/examples/reload/Makefile
share/doc/tenon/examples/reload/host.c
share/doc/tenon/examples/reload/plugin.c
share/doc/tenon/examples/rules/Makefile
share/doc/tenon/examples/rules/discount.c
share/doc/tenon/examples/rules/host.c
share/doc/tenon/examples/rules/price.c
share/doc/tenon/examples/rules/shipping.c
END
))"
none "every page that README and the headers name is there" \
    "$(grep -rhoE '\bdoc/[A-Z]+\.md' "$root/include" "$root/share/doc/tenon/README.md" |
    sort -u | while read -r page; do [ -f "$root/share/doc/tenon/$page" ] || echo "$page"; done)"
none "no file names the folder of the build or of the package" "$(grep -rlF -e "$(pwd -P)" -e "$work/stage" "$root")"
some "the archive that was built does" "$(grep -lF "$(pwd -P)" "$BUILD/libtenon.a")"
none "every file can be read by all" "$(find "$root" -type f ! -perm -444)"
answers "the version is that of the header" \
    "$(sed -n 's/^#define TN_VERSION_STRING "\(.*\)"/\1/p' include/tenon/base.h)" \
    pkg-config --modversion tenon

# ---- a product ----

mkdir "$work/product"
cat >"$work/product/product.c" <<'END'
#include <stdio.h>
#include <tenon.h>
int seven = 7;
TN_EXPORT(seven);
int main(int argc, char **argv)
{
    struct tn_session *session;
    struct tn_library *library;
    struct tn_error err;
    void *address;
    if (argc < 2 || tn_session_create(NULL, &session, &err) || tn_library_create(session, "main", &library, &err) ||
        tn_add_resolver(library, tn_resolve_exports, NULL, &err) ||
#ifdef SYMTAB
        tn_add_resolver(library, tn_resolve_symtab, NULL, &err) ||
#endif
        tn_add_file(library, argv[1], &err) || tn_lookup(library, "answer", &address, &err))
        return puts(err.text), 1;
    printf("answer %d\n", __extension__((int (*)(void))address)());
    tn_session_destroy(session);
    return 0;
}
END
cat >"$work/product/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.13)
project(product C)
find_package(tenon 0.1 REQUIRED)
find_package(tenon 0.1 QUIET COMPONENTS codegen)
if(NOT TARGET tenon::codegen)
  message(STATUS "no code generator")
endif()
add_executable(product product.c)
target_link_libraries(product PRIVATE tenon::tenon)
END
cat >"$work/loaded.c" <<'END'
extern int seven;
int answer(void) { return 6 * seven; }
END
$CC -O2 -fPIC -c "$work/loaded.c" -o "$work/loaded.o"
(cd "$work" && ar rcs loaded.a loaded.o)

# product NAME COMPILER FLAG...: builds it and lets it load an object.
product() {
    local name=$1
    shift
    succeeds "$name is built" "$@" -Wall -Wextra -Wpedantic -Werror "$work/product/product.c" -o "$work/program"
    answers "$name loads an object" "answer 42" "$work/program" "$work/loaded.o"
}

# pkg-config's words come behind the source, as linkers want archives.
from() {
    local flags=$1
    shift
    "$@" $(pkg-config $flags)
}

for kind in "" -static -static-pie; do
    product "with pkg-config, ${kind:-dynamic}" from "--cflags --libs ${kind:+--static} tenon" $CC -fPIE $kind
done
product "with musl" from "--cflags --libs --static tenon-musl" musl-gcc -static
with_symtab() { "$@" $(pkg-config --cflags --libs tenon) $(pkg-config --variable=symtab_libs tenon); }
product "with tn_resolve_symtab" with_symtab $CC -DSYMTAB
product "with tn_resolve_symtab, -static" with_symtab $CC -static -DSYMTAB

succeeds "with CMake it is built" with_cmake "$work/product"
answers "with CMake it loads an archive" "answer 42" "$work/product/build/product" "$work/loaded.a"
some "CMake is told that there is no code generator" \
    "$(cmake -S "$work/product" -B "$work/product/build" 2>&1 | grep 'no code generator')"
sed -i 's/tenon 0.1 REQUIRED/tenon 0.2 REQUIRED/' "$work/product/CMakeLists.txt"
some "CMake refuses another version" "$(with_cmake "$work/product" 2>&1 | grep 'with requested version "0.2"')"

answers "the example runs from there" "out/double.o answers 40" \
    bash -c "cd '$root/share/doc/tenon/examples/plugin' && make -s run CC='$CC' | sed -n 2p"

answers "a plugin is replaced there, and a broken version is not taken" "the answer is 40
kept the old version: undefined symbols:
  'host_has_no_such_function' needed by out/broken.o(.text+0x1) in answer
the answer is 40
the answer is 80" bash -c "cd '$root/share/doc/tenon/examples/reload' && make -s run CC='$CC'"

if [ "$(uname -m)" = x86_64 ]; then
    answers "formulas are compiled there" "832040
-4
1" make -s -C "$root/share/doc/tenon/examples/formulas" run CC="$CC"
    rm -rf "$root/share/doc/tenon/examples/formulas/out"
fi

succeeds "another one is built there" make -s -C "$root/share/doc/tenon/examples/rules" run CC="$CC"
none "its rules are read when they are needed, and replaced" "$(make -s -C "$root/share/doc/tenon/examples/rules" run |
    diff - <(
        for version in 1:95 2:80; do
            echo "out/version-${version%:*}"
            printf '  out/version-%s/%s.o is read\n' "${version%:*}" price "${version%:*}" discount
            printf '  a price is asked for\n  price(100) = %s\n' "${version#*:}" "${version#*:}"
        done
    ))"

# ---- and away again ----

rm -rf "$root"/share/doc/tenon/examples/{plugin,reload,rules}/out
PREFIX=$root tools/build/install.sh uninstall >/dev/null
PREFIX=$root tools/build/install.sh uninstall musl >/dev/null
none "uninstalling takes every file away" "$(find "$root" -type f)"
none "and its own folders" "$(find "$root" -type d -name '*tenon*')"
some "a relative prefix is refused" "$(PREFIX=here tools/build/install.sh install 2>&1 | grep 'not an absolute path')"
