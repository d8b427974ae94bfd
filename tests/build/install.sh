# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# time limit: 600
#
# make install: everything is there, and products of C and C++ that compile at run time are built from it.

. tests/build/install_tree

: "${CXX:=g++}"
clangxx=$LLVM_BIN/clang++

install_tree make --no-print-directory install
some "make install installs" "$(files "$root" | grep -x lib/libtenon_codegen.a)"
none "what belongs to the code generator is there" "$(files "$root" | comm -13 - <(sort <<END
bin/tenon
include/tenon.h
include/tenon/base.h
include/tenon/define.h
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
include/tenon_codegen.h
include/tenon_compiler.h
include/tenon_cpu.h
include/tenon_heap.h
include/tenon_image.h
include/tenon_jit.h
include/tenon_managed.h
include/tenon_package.h
include/tenon_remote.h
include/tenon_save.h
lib/libtenon.a
lib/libtenon_codegen.a
lib/pkgconfig/tenon-codegen.pc
$(for target in $(echo "${TARGETS:-X86 AArch64 RISCV}" | tr A-Z a-z); do
    printf '%s\n' "lib/libtenon_codegen_$target.a" "lib/pkgconfig/tenon-codegen-$target.pc"
done)
lib/pkgconfig/tenon.pc
lib/tenon/stubs/full
lib/tenon/stubs/full_objects
lib/tenon/stubs/managed
lib/tenon/stubs/objects
lib/tenon/stubs/small
share/bash-completion/completions/tenon
share/fish/vendor_completions.d/tenon.fish
share/man/man1/tenon.1
share/zsh/site-functions/_tenon
share/doc/tenon/gc-report
share/doc/tenon/examples/calc/Makefile
share/doc/tenon/examples/catalogue/server.c
share/doc/tenon/examples/dl/words.cpp
share/doc/tenon/examples/packages/cache.c
share/doc/tenon/examples/packages/open.c
share/doc/tenon/examples/tiny/main.c
END
))"
none "no file names the folder of the build or of the package" "$(grep -rlF -e "$(pwd -P)/" -e "$work/stage" "$root")"
answers "the command runs from there" "hello" "$root/bin/tenon" run - <<'END'
@text = constant [6 x i8] c"hello\00"
declare i32 @puts(ptr)
define i32 @main() { call i32 @puts(ptr @text) ret i32 0 }
END

# ---- a product that compiles ----

mkdir "$work/c" "$work/cxx"
cat >"$work/c/product.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <tenon_codegen.h>
int seven = 7;
TN_EXPORT(seven);
static const char ir[] = "@seven = external global i32\n"
                         "define i32 @answer() {\n %v = load i32, ptr @seven\n %r = mul i32 %v, 6\n ret i32 %r\n}\n";
int main(void)
{
    struct tn_session *session;
    struct tn_library *library;
    struct tn_error err;
    struct tn_buffer object;
    struct tn_input input = {.size = sizeof input, .name = "answer.o"};
    void *address;
    if (tn_compile("answer.ll", ir, strlen(ir), NULL, &object, NULL, &err))
        return puts(err.text), 1;
    input.bytes = object.data;
    input.length = object.size;
    if (tn_session_create(NULL, &session, &err) || tn_library_create(session, "main", &library, &err) ||
        tn_add_resolver(library, tn_resolve_exports, NULL, &err) || tn_add_object(library, &input, &err) ||
        tn_lookup(library, "answer", &address, &err))
        return puts(err.text), 1;
    printf("answer %d\n", __extension__((int (*)(void))address)());
    tn_session_destroy(session);
    tn_buffer_free(&object);
    return 0;
}
END
cat >"$work/c/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.13)
project(product C CXX)
find_package(tenon 0.1 REQUIRED COMPONENTS codegen)
add_executable(product product.c)
target_link_libraries(product PRIVATE tenon::codegen)
add_library(module SHARED product.c)
target_link_libraries(module PRIVATE tenon::codegen)
add_executable(one one.c)
target_link_libraries(one PRIVATE tenon::codegen_@TARGET@ tenon::small -static -s)
string(REPLACE ";" " " flags "${tenon_COLLECTED_CFLAGS}")
file(WRITE collected "${flags}")
END
# For this machine alone, with IR that LLVM's C interface makes.
target=$(uname -m | sed 's/x86_64/x86/; s/riscv64/riscv/')
sed -i "s/@TARGET@/$target/" "$work/c/CMakeLists.txt"
cat >"$work/c/one.c" <<'END'
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <stdio.h>
#include <strings.h>
#include <tenon_codegen.h>
int main(int argc, char **argv)
{
    struct tn_error err;
    struct tn_buffer object;
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext("one", context);
    LLVMTypeRef type = LLVMFunctionType(LLVMInt32TypeInContext(context), NULL, 0, 0);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    LLVMPositionBuilderAtEnd(
        builder, LLVMAppendBasicBlockInContext(context, LLVMAddFunction(module, "answer", type), ""));
    LLVMBuildRet(builder, LLVMConstInt(LLVMInt32TypeInContext(context), 42, 0));
    LLVMMemoryBufferRef ir = LLVMWriteBitcodeToMemoryBuffer(module);
    int code = tn_compile("one", LLVMGetBufferStart(ir), LLVMGetBufferSize(ir), NULL, &object, NULL, &err);
    const char *const *targets = tn_codegen_targets();
    int count = 0, asked = 0; /* the arguments are the targets that are expected */
    for (; targets[count]; count++)
        for (int i = 1; i < argc; i++)
            asked += !strcasecmp(targets[count], argv[i]);
    printf("%s, %s\n", code ? err.text : "compiled",
           count != asked || count != argc - 1 ? "other targets" : count == 1 ? "one target" : "two targets");
    return 0;
}
END

# The same in C++, with a thread-local reserve of its own; both headers have to be C++ without a warning.
sed -e 's/struct tn_input input = .*/tn_input input = {}; input.size = sizeof input; input.name = "answer.o";/' \
    -e 's/^int seven/TN_TLS_RESERVE(16384);\nextern "C" void twice() {}\nTN_EXPORT(twice);\n&/' \
    -e 's/NULL/nullptr/g; s/__extension__((int (\*)(void))address)/reinterpret_cast<int (*)()>(address)/' \
    -e 's/printf("answer %d\\n", /&tn_tls_reserve_size == 16384 ? /; s/>(address)()/& : 0/' \
    "$work/c/product.c" >"$work/cxx/product.cpp"

libs=$(pkg-config --cflags --libs tenon-codegen)
small=$(pkg-config --variable=small_ldflags tenon-codegen)
strict="-Wall -Wextra -Wpedantic -Werror"

# product NAME COMMAND...
product() {
    local name=$1
    shift
    succeeds "$name is built" "$@" -o "$work/program"
    answers "$name compiles and runs" "answer 42" "$work/program"
}
product "C, dynamic" $CC $strict "$work/c/product.c" $libs
product "C, static and small" $CC -static -s $strict "$work/c/product.c" $libs $small
for cxx in "$CXX" "$clangxx"; do
    for standard in c++11 c++20; do
        succeeds "${cxx##*/} takes the headers as $standard" \
            "$cxx" -std=$standard $strict -Wold-style-cast -I"$root/include" -c "$work/cxx/product.cpp" -o "$work/cxx.o"
    done
    product "C++, ${cxx##*/}" "$cxx" -static -s $strict "$work/cxx/product.cpp" $libs $small
done
# ratio FILE OTHER: of their sizes, in percent
ratio() { echo $(($(stat -c %s "$1") * 100 / $(stat -c %s "$2"))); }
succeeds "C for one target is built" $CC -static -s $strict "$work/c/one.c" \
    $(pkg-config --cflags --libs "tenon-codegen-$target") $small -o "$work/one"
answers "and compiles IR that LLVM's C interface makes" "compiled, one target" "$work/one" "$target"
other=$(for each in x86 aarch64; do [ "$each" = "$target" ] || echo "$each"; done | head -1)
for order in "$target $other" "$other $target"; do
    succeeds "C for two targets is built, $order" $CC -static -s $strict "$work/c/one.c" \
        $(pkg-config --cflags --libs $(printf 'tenon-codegen-%s ' $order)) $small -o "$work/two"
    answers "and has both" "compiled, two targets" "$work/two" $order
done
succeeds "C for all targets is built" $CC -static -s $strict "$work/c/one.c" $libs $small -o "$work/all"
answers "and has more targets" "compiled, other targets" "$work/all" "$target"
some "which are much of it" "$(ratio "$work/one" "$work/all" | grep -x '[56].')"
succeeds "with CMake it is built" with_cmake "$work/c"
answers "with CMake it compiles and runs" "answer 42" "$work/c/build/product"
answers "a shared library made with CMake exports what is its own" "main seven" \
    bash -c "nm -D --defined-only '$work/c/build/libmodule.so' | grep -v '_tn_exports$' | sed 's/.* //' | sort |
        paste -sd ' '"

answers "for one target too" "compiled, one target" "$work/c/build/one" "$target"
some "and as small as with pkg-config" "$(ratio "$work/one" "$work/c/build/one" | grep -x '99\|100')"
answers "both say how clang makes collected C" "$(pkg-config --variable=collected_cflags tenon-codegen)" \
    cat "$work/c/collected"

answers "the example runs from there" "832040" \
    bash -c "cd '$root/share/doc/tenon/examples/calc' && make -s run CC='$CC' | sed -n 1p"
calc=$root/share/doc/tenon/examples/calc/out/calc
answers "it calls host functions and itself" "8
1.4142135623731
24" "$calc" <<'END'
pow(2, 1 + 2)
sqrt(2) - (1 < 0) * 5 + 0.0000000000000049
f(n) = n < 1 ? 1 : n * f(n - 1)
f(4)
END
mkdir -m 700 "$work/kept"
for time in first second; do
    answers "functions are defined again while others call them, the $time time with a cache" "20
34" "$calc" "$work/kept" <<'END'
f(x) = 2 * x
g(x) = f(x) + 10
g(5)
f(x) = x * x - 1
g(5)
END
done
some "it says what is wrong with a line" "$(printf 'f(x) = g(x)\n1 +\n' | "$calc" 2>&1 | paste -sd ' ' |
    grep -x 'calc: line 1: there is no such function calc: line 2: a number.* is missing')"
rm -rf "${calc%/*}"
collected=$root/share/doc/tenon/examples/collected
answers "the example of IR runs from there" "Hello! 12 factorial is 479001600" \
    "$root/bin/tenon" run "$root/share/doc/tenon/examples/hello/hello.ll"

# ---- README's programs and commands, as they stand there ----

readme=$root/share/doc/tenon/README.md
mkdir "$work/readme"
for name in host jit tree; do
    sed -n "/^\/\* $name\.c\(:.*\| \)\*\/$/,/^\`\`\`$/p" "$readme" | sed '$d' >"$work/readme/$name.c"
done
# Each line that begins with a prompt, with comments and the name of Debian's clang taken off.
sed -nE 's/ +# .*//; s/^    \$ //p' "$readme" | sed "s|clang-[0-9]*|$LLVM_BIN/clang|" >"$work/readme/commands"
some "README has commands" "$(grep -c . "$work/readme/commands" | grep -x '[6-9]')"
answers "README's programs are built and run by its commands" "the plugin answers 43
twice(21) is 42
13107100 nodes
13107100 nodes" env -C "$work/readme" PATH="$root/bin:$PATH" sh -e commands
answers "the example of C++ plugins runs from there" "plugin: the host has no coffee
host: tea tea coffee cost 6
plugin: the host has no cake
plugin: the host has no coffee
host: the plugin refuses an order of 2 articles without a price" \
    env PATH="$root/bin:$PATH" make -s -C "$root/share/doc/tenon/examples/plugin-cpp" run CC="$CC" CXX="$CXX"
rm -rf "$root/share/doc/tenon/examples/plugin-cpp/out"
succeeds "the example of collected C runs from there" \
    env PATH="$root/bin:$PATH" make -s -C "$collected" run static CC="$CC" CLANG="$LLVM_BIN/clang"
rm -rf "$collected/out"

# runs EXAMPLE GOAL: what the example prints there
runs() {
    env PATH="$root/bin:$PATH" make -s -C "$root/share/doc/tenon/examples/$1" "$2" CC="$CC" CXX="$CXX" \
        CLANG="$LLVM_BIN/clang" 2>/dev/null
    rm -rf "$root/share/doc/tenon/examples/$1/out"
}
answers "the example of packages runs from there" "42
44
compiling rules(rule)
240
242" runs packages run
answers "and the one of a cache of packages" "compiled
400
400" runs packages cached
some "the example of a compile server runs from there" "$(runs tiny run | grep '^from the cache$')"
if [ "$(uname -m)" = x86_64 ]; then
    some "the example of shared libraries runs from there" "$(runs dl run | grep '^3 roses, no tulip$')"
fi

if echo '#include <editline/readline.h>' | $CC -include stdio.h -fsyntax-only -xc - 2>/dev/null; then
    dowel=$root/share/doc/tenon/examples/dowel
    answers "dowel runs from there" "832040" \
        env PATH="$root/bin:$PATH" make -s -C "$dowel" run CC="$CC" CLANG="$LLVM_BIN/clang"
    echo 'fn main() { print("built") }' >"$work/built.dowel"
    succeeds "it builds an executable there" "$dowel/out/dowel" build "$work/built.dowel" -o "$work/built"
    answers "which runs" "built" "$work/built"
    rm -rf "$dowel/out"
fi

# ---- the example that needs more parts ----

product=$root/share/doc/tenon/examples/product
product() { env PATH="$root/bin:$PATH" make -s -C "$product" CLANG="$LLVM_BIN/clang" "$@" 2>&1 | grep '^product: '; }
some "without musl's runtime it says so" \
    "$(product run | grep -x "product: the runtime for musl is missing: 'make musl install-musl' in Tenon's source .*")"
some "without its compiler too" "$(product run MUSL_CC=none-gcc | grep -x 'product: there is no none-gcc: .*')"
some "without clang too" "$(product alone CLANG=no-clang | grep -x 'product: there is no no-clang: .*')"
some "without musl's headers too" "$(product alone MUSL_INCLUDE=/none | grep -x 'product: there are no headers .*')"
some "without the command too" "$(product alone TENON=no-tenon | grep -x 'product: there is no no-tenon: .*')"
answers "and it runs from there" "$(env PATH="$root/bin:$PATH" make -s -C "$product" alone CLANG="$LLVM_BIN/clang" \
    OUT="$work/first")" "$work/first/alone"
rm -rf "$product/out"

# ---- and away again ----

make --no-print-directory uninstall PREFIX="$root" >/dev/null
none "uninstalling takes every file away" "$(find "$root" -type f)"
none "and its own folders" "$(find "$root" -type d -name '*tenon*')"
