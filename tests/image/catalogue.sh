# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The example of a server whose build reads 500,000 rows: it answers where there is nothing else, and what it starts
# with is neither read nor built.
#
# time limit: 600

. tests/build/check
. tests/image/alone

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tenon=$PWD/$BUILD/tenon
server=$work/out/catalogue
succeeds "one make target builds it" env PKG_CONFIG_PATH="$PWD/$BUILD/pkgconfig" make -s -C examples/catalogue \
    OUT="$work/out" TENON="$tenon" CLANG="$LLVM_BIN/clang" CC="$CC"
none "it is static" "$(readelf -lW "$server" | grep INTERP)"
some "it has the articles" "$("$tenon" inspect "$server" | grep "^  root 'names'")"

# ask PORT PATH: tries until the server listens.
ask() {
    for _ in $(seq 200); do
        if exec 3<>"/dev/tcp/127.0.0.1/$1"; then
            printf 'GET /%s HTTP/1.0\r\n\r\n' "$2" >&3
            cat <&3
            exec 3<&-
            return
        fi 2>/dev/null
        sleep 0.05
    done
}

port=$((10000 + $$ % 20000))
mkdir "$work/empty" && cp "$server" "$work/empty/program"
enter "$work/empty" /program $port 4 >"$work/said" 2>&1 &
for question in article-0 article-4711 number/499999 nothing; do
    ask $port "$question" >"$work/answer-${question##*/}"
done
wait
if grep -q '^unshare:\|^chroot:' "$work/said"; then
    echo "ok it answers in an empty folder # SKIP the system permits no such thing: $(head -n 1 "$work/said")"
else
    succeeds "it answers in an empty folder" grep -qx '1 article-0 0.00' "$work/answer-article-0"
    succeeds "by name" grep -qx '4712 article-4711 64.09' "$work/answer-article-4711"
    succeeds "by number" grep -qx '500000 article-499999 920.81' "$work/answer-499999"
    some "and says what it does not know" "$(grep '^HTTP/1.0 404' "$work/answer-nothing")"
fi

if command -v strace >/dev/null && strace -o "$work/trace" "$server" $((port + 1)) 0 2>"$work/said"; then
    some "the trace shows what it does" "$(grep '^mremap(' "$work/trace")"
    none "it opens no file, but what tells how much memory there is" \
        "$(grep '^open' "$work/trace" | grep -v '"/proc/meminfo"\|"/proc/self/cgroup"\|"/sys/')"
else
    echo "ok what it does # SKIP there is no strace here: $(head -n 1 "$work/said" 2>/dev/null)"
fi
