# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Destructors of thread_local objects: in loaded files, whose code stays until they have run, and in executables, where
# musl has nothing for them.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=tests/image/source
expected='a thread ended: one inner, 2
closed: main inner finalizer, 0
closed in a child: main inner finalizer, 0
closed before a thread ends: main inner finalizer, 2
opened again in a child: finalizer, 0
it ended: one inner, 0
again: finalizer one inner, 0'

ir() { "$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -fno-exceptions -emit-llvm "$@"; }
build() { "$BUILD/tenon" build "$@"; }

ir -fPIC -c $source/thread_exits_base.c -o "$work/base.bc" &&
    ir -fPIC -xc++ -DTHROUGH=say -c $source/thread_exits.cpp -o "$work/user.bc" || exit 1
for kind in image shared; do
    succeeds "$kind: they are built" eval "build --kind=$kind -o '$work/base.$kind' '$work/base.bc' &&
        build --kind=$kind -o '$work/user.$kind' '$work/user.bc'"
done
host() {
    local name=$1
    shift
    if ! "$@" -O1 -Wall -Wextra -Iinclude -Itests/hosts $source/thread_exits_host.c $archive -pthread -o "$work/host" \
        2>"$work/log"; then
        echo "not ok $name: $(head -n 3 "$work/log")"
        return
    fi
    for kind in image shared; do
        said=$(timeout 60 "$work/host" "$work/base.$kind" "$work/user.$kind" 2>&1)
        if [ "$said" = "$expected" ]; then echo "ok $name, $kind"; else echo "not ok $name, $kind: $? $said"; fi
    done
}
archive=$BUILD/libtenon.a
host dynamic "$CC"
host exported "$CC" -rdynamic
host static "$CC" -static
archive=$BUILD/musl/libtenon.a
[ ! -f "$archive" ] || host musl musl-gcc -static

# ---- executables ----

headers=$(musl-gcc -### -xc /dev/null 2>&1 | grep -o '[^ ]*/include/[^ ]*musl[^ ]*' | head -n 1)
musl=(--target=x86_64-linux-musl -nostdlibinc -isystem "$headers")
cat >"$work/program.cpp" <<'END'
#ifdef THREADS
#include <pthread.h>
#endif
#include <stdlib.h>
extern "C" int puts(const char *);
extern "C" void note(const char *what) { puts(what); }
extern "C" void enter_thread(const char *);
struct global { ~global() { puts("global"); } };
static void at_exit() { puts("atexit"); }
int main(int argc, char **)
{
    static global global; // constructed after the thread's objects would not matter: those of threads go first
    atexit(at_exit);
    enter_thread("main");
#ifdef THREADS
    pthread_t thread;
    pthread_create(&thread, nullptr, [](void *) -> void * { enter_thread("thread"); return nullptr; }, nullptr);
    pthread_join(thread, nullptr);
#endif
    if (argc > 1)
        exit(3);
    return 3;
}
END
ends=$'main\ninner\natexit\nglobal\nfinalizer'
ir "${musl[@]}" -xc++ -DTHROUGH=note -c $source/thread_exits.cpp -o "$work/part.bc" || exit 1
for threads in '' -DTHREADS; do
    ir "${musl[@]}" $threads -xc++ -fno-threadsafe-statics -c "$work/program.cpp" -o "$work/program.bc" || exit 1
    succeeds "an executable is built $threads" build --kind=exe -o "$work/program" "$work/program.bc" "$work/part.bc"
    for argument in '' exit; do
        said=$("$work/program" $argument 2>&1)
        status=$?
        wanted="3 ${threads:+$'thread\ninner\n'}$ends"
        name="an executable $threads $argument"
        if [ "$status $said" = "$wanted" ]; then echo "ok $name"; else echo "not ok $name: $status $said"; fi
    done
done
