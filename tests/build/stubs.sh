# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What a stub of written programs offers is there once: names that libraries hide are made global, and a static function
# of such a name, which objcopy would make global as well, fails the build. And which objects musl's build makes anew.

. tests/build/check

work=$BUILD/tests/build/stubs
rm -rf "$work" && mkdir -p "$work"
if [ ! -f "$BUILD/obj/stub/small" ]; then
    echo "ok stubs # SKIP there is no compiler for musl"
    exit
fi

musl=$(musl-gcc -\#\#\# -xc /dev/null 2>&1 | grep -o '[^ ]*/Scrt1.o')
musl=${musl%/*}
compile() { # NAME TEXT
    echo "$2" >"$work/$1.c"
    musl-gcc -O1 -fPIE -ffunction-sections -Wall -Wextra -Werror -c "$work/$1.c" -o "$work/$1.o"
}
link() { # OBJECT...
    tools/stub/link "$work/stub" "$work/list" "$musl" "$@" \
        "$BUILD"/obj/stub/{stub,"host_$(uname -m)",exits,alloc}.o \
        "$BUILD/musl/libtenon.a" "$musl/libc.a" "$(musl-gcc -print-libgcc-file-name)" 2>&1
}

# ld makes a hidden function local that is called through what might have been a PLT entry.
compile hidden '__attribute__((visibility("hidden"), used)) int offered(void); int offered(void) { return 1; }'
compile caller 'int offered(void), user(void); int user(void) { return offered(); }'
compile rest 'int other(void); int other(void) { return 3; }'
compile static 'int other(void); static __attribute__((noinline, used)) int offered(int n) { return n + 2; }
int other(void) { return offered(1); }'
for name in small managed objects full full_objects; do
    none "$name: no name is there twice" "$(nm "$BUILD/obj/stub/$name" | awk '$2 ~ /[A-Z]/ { print $3 }' | sort |
        uniq -d)"
done
{ cat "$BUILD/obj/stub/small.list"; printf '%s\n' offered other user; } | sort -u >"$work/list"
none "a hidden name: the stub can be made" "$(link "$work"/{hidden,caller,rest}.o)"
some "it is offered" "$(nm "$work/stub" | grep ' T offered$')"
rm -f "$work/stub"
some "a hidden name and a static one: refused" "$(link "$work"/{hidden,caller,static}.o |
    grep ': defined twice: offered$')"
none "then there is no stub" "$(ls "$work" | grep '^stub$')"

# ---- objects that are compiled for size with musl (tools/build/musl.mk) ----

object=$work/obj/src/base/arena.c.o
make_object() { # LIST [OPTION]
    make -s -f tools/build/rules.mk LIBC=musl LLVM=0 BUILD="$work" CC=musl-gcc seldom="$1" ${2:-} "$object"
}
make_object src/base/arena.c >"$work/said" 2>&1
succeeds "another list for size: the same list makes nothing anew" make_object src/base/arena.c -q
none "another list for size: others make it anew" "$(make_object '' -q && echo 'it is up to date')"
