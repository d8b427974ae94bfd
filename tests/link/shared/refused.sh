# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Shared libraries that this program must not, or cannot, open: what the error says (doc/SHARED.md).

. tests/build/check
. tests/link/shared/table.bash

if [ "$(uname -m)" != x86_64 ] || [ "$(ldd --version 2>&1 | grep -c musl)" != 0 ]; then
    echo "ok shared libraries that are refused # SKIP for x86-64 with glibc only"
    exit
fi
cc=${CC:-gcc} sources=$PWD/tests/link/shared/compared
musl=$(realpath "$BUILD/musl/libtenon.a") include=$PWD/include
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PKG_CONFIG_PATH=$BUILD/pkgconfig
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
$cc -std=gnu11 -O1 -Wall "$sources/run.c" "$sources/tenon.c" $(pkg-config --cflags --libs --static tenon) -rdynamic \
    -o "$work/run" || exit 1
cd "$work" || exit 1

# says NAME PATH WORDS...: the error has each of them.
says() {
    local name=$1 path=$2 said word
    shift 2
    said=$(./run -t "$path")
    for word in "$@"; do
        grep -qF -- "$word" <<<"$said" || {
            echo "not ok $name: no '$word' in: $said"
            return
        }
    done
    echo "ok $name"
}

# fake NAME VERSION: a library of this DT_SONAME that defines `newer` under the version; none: without versions.
fake() {
    mkdir -p fake
    echo 'int newer(void) { return 1; }' >fake.c
    if [ "$2" = none ]; then
        $cc -shared -fPIC -nostdlib fake.c -Wl,-soname,"$1" -o "fake/$1"
    else
        echo "$2 { global: newer; };" >fake.map
        $cc -shared -fPIC -nostdlib fake.c -Wl,-soname,"$1" -Wl,--version-script=fake.map -o "fake/$1"
    fi
}
user() { # OUT NEEDED
    echo 'int newer(void); int run(void) { return newer(); }' >user.c
    $cc -shared -fPIC user.c "fake/$2" -o "$1"
}

fake libm.so.6 GLIBC_9.9
user libnewer.so libm.so.6
says "a newer version" ./libnewer.so ./libnewer.so "'newer' of GLIBC_9.9" "the glibc of this program is 2."
fake libm.so.6 GLIBC_PRIVATE
user libprivate.so libm.so.6
says "what is glibc's own" ./libprivate.so ./libprivate.so "'newer' of GLIBC_PRIVATE"
fake libc.musl-x86_64.so.1 none
user libmusl.so libc.musl-x86_64.so.1
says "another C library" ./libmusl.so ./libmusl.so "made for musl" "libc.musl-x86_64.so.1" "has glibc"
says "the C library" /lib/x86_64-linux-gnu/libc.so.6 "libc.so.6" "a part of glibc"
says "the mathematical library" /lib/x86_64-linux-gnu/libm.so.6 "a part of glibc"

cat >old.c <<'END'
#include <stddef.h>
__asm__(".symver old_realpath, realpath@GLIBC_2.2.5");
char *old_realpath(const char *, char *);
char *run(void) { return old_realpath("/", NULL); }
END
$cc -shared -fPIC old.c -o libold.so
says "a version for older programs" ./libold.so "'realpath' of GLIBC_2.2.5" "GLIBC_2.3"

echo 'int run(void) { return 1; }' >plain.c
$cc -shared -fPIC -Wl,-z,execstack plain.c -o libstack.so
says "an executable stack" ./libstack.so ./libstack.so "executable stack"
echo 'int there = 1; int *run(void) { int *at; __asm__("movabs $there, %0" : "=r"(at)); return at; }' >text.c
$cc -shared -fPIC -Wl,-z,notext text.c -o libtext.so
says "relocations of code" ./libtext.so ./libtext.so "DT_TEXTREL"
echo 'int main(void) { return 0; }' >program.c
$cc -fPIE -pie program.c -o program
says "a program" ./program ./program "a program"
echo 'int missing(void); int run(void) { return missing(); }' >missing.c
$cc -shared -fPIC missing.c -o libmissing.so
says "an undefined symbol" ./libmissing.so ./libmissing.so "undefined symbols" "'missing'"
$cc -shared -fPIC plain.c -Wl,-soname,libneeded.so -o fake/libneeded.so
$cc -shared -fPIC -Wl,--no-as-needed plain.c fake/libneeded.so -o libneeds.so
says "a library that is not there" ./libneeds.so ./libneeds.so "libneeded.so" "No such file"
$cc -shared -fPIC -Wl,-z,nodlopen plain.c -o libclosed.so
says "what says that it cannot be opened" ./libclosed.so ./libclosed.so DF_1_NOOPEN
echo '__thread char large[100000] = {1}; char *run(void) { return large; }' >large.c
$cc -shared -fPIC -ftls-model=initial-exec large.c -o liblarge.so
says "more thread-local data than the reserve has" ./liblarge.so \
    ./liblarge.so "100000 bytes of thread-local storage" TN_TLS_RESERVE

# ---- a program with musl ----

if ! musl-gcc -v >/dev/null 2>&1 || ! [ -e "$musl" ]; then
    echo "ok in a program with musl # SKIP no musl-gcc, or no runtime for it"
    exit
fi
cat >table.c <<'END'
#include <tenon.h>
extern char host_puts[] __asm__("puts");
static const struct tn_export entries[] = {{"puts", host_puts}};
const struct tn_symbol_table table = {entries, 1};
END
musl-gcc -std=gnu11 -O1 -static -DTABLE=table -I"$include" table.c "$sources/run.c" "$sources/tenon.c" "$musl" \
    -o run || exit 1
says "glibc's in a program with musl" ./libstack.so executable
echo '#include <stdio.h>' >plain.c; echo 'int run(void) { return puts("plain"); }' >>plain.c
$cc -shared -fPIC plain.c -o libplain.so
says "a library that was made for glibc" ./libplain.so ./libplain.so "made for glibc" libc.so.6 "has musl"
cat >musl.c <<'END'
#include <stdio.h>
__thread int count = 3;
int run(void) { puts("in a library for musl"); return ++count; }
END
musl-gcc -shared -fPIC musl.c -o libmusl.so
says "a library that was made for musl" ./libmusl.so opened
answers "its functions" "here: 4
in a thread: 4
here: 4
in a thread: 4
end" bash -c './run ./libmusl.so | grep -v "in a library"'
