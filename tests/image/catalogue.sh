# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The example of a server whose build reads 500,000 rows: it answers where there is nothing else, and what it starts
# with is neither read nor built. The one whose prices rules make takes these from a folder: packages of which one is
# built again while the others stay as they are.
#
# time limit: 600

. tests/build/check
. tests/image/alone

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tenon=$PWD/$BUILD/tenon
server=$work/out/catalogue
catalogue_make() {
    env PKG_CONFIG_PATH="$PWD/$BUILD/pkgconfig" make -s -C "$work/catalogue" OUT="$work/out" TENON="$tenon" \
        CLANG="$LLVM_BIN/clang" CC="$CC" "$@"
}
cp -r examples/catalogue "$work/catalogue"
succeeds "one make target builds it" catalogue_make
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

# ---- rules ----

# shop QUESTION...: starts it; what it answers, a line each, and what it prints besides are in $work/answers.
shop() {
    port=$((port + 2))
    "$work/out/shop" "$work/out/objects" "$work/out/rules" $port $# 2>"$work/said" &
    for question in "$@"; do
        ask $port "$question" | tail -n 1
    done >"$work/answers"
    wait
    sed "s|$work/out/rules/||" "$work/said" >>"$work/answers"
}
# prices NAME TEXT: what it says of article-9, the tenth one, and of article-4711
prices() {
    shop article-9 article-4711
    answers "$1" "$2" cat "$work/answers"
}

# money FROM TO: builds the package that the others use again, from a changed source, and leaves those as they are.
money() {
    cp examples/catalogue/money.c "$work/catalogue/money.c"
    sed -i "s|$1|$2|" "$work/catalogue/money.c" "$work/catalogue/rule.h"
    rm "$work"/out/rules/money.*
    catalogue_make "$work/out/rules/money.image" || echo "not ok money is not built"
}

succeeds "with rules it is built" catalogue_make shop
prices "rules make prices: 712.71 becomes 605.81 and 720.91" $'10 article-9 720.91\n4712 article-4711 76.26'
money 'What' 'Anything that'
prices "money that is the same" $'10 article-9 720.91\n4712 article-4711 76.26'
money 'price \* number / 100' '(price * number + 50) / 100'
prices "money that rounds: both rules are compiled again" "10 article-9 720.90
4712 article-4711 76.27
shop: compiling sale(rule)
shop: compiling tax(rule)"
succeeds "rules that lose their IR" "$LLVM_BIN/llvm-objcopy" -R .llvmbc "$work/out/rules/tax.image"
prices "are not used, with the reason" "10 article-9 605.80
4712 article-4711 64.09
shop: not used: TN_ENOTSUP: tax.image: the section .llvmbc, with the IR of stale functions, was removed from it
shop: compiling sale(rule)"
money 'uint64_t number' 'unsigned number'
prices "nor are those that call what has another type" "10 article-9 712.71
4712 article-4711 64.09
$(for rule in sale tax; do
    echo "shop: not used: TN_ESTALE: $rule.image: it uses 'percent' of the image 'money': wanted the function" \
        "i64 (i64, i64); found the function i64 (i64, i32)"
done)"
