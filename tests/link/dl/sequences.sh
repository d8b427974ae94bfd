# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random sequences of dlopen, dlsym, dlclose and dlerror print the same with Tenon, from objects, as with the system's
# dynamic linker, from shared libraries of the same sources (include/tenon/dl.h).

. tests/build/check

if [ "$(uname -m)" != x86_64 ]; then
    echo "ok sequences of dlopen # SKIP compiled for this machine only"
    exit
fi
cc=${CC:-gcc} sources=$PWD/tests/link/dl/compared count=${COUNT:-40}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PKG_CONFIG_PATH=$BUILD/pkgconfig
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
$cc -std=gnu11 -O1 -Wall "$sources/host.c" $(pkg-config --cflags --libs tenon) -rdynamic -o "$work/host" || exit 1
cd "$work" || exit 1

# library LETTER NEEDED FLAGS...: makes LETTER.o and libLETTER.so
library() {
    local letter=$1 needs=$2 linked=()
    shift 2
    echo "$needs" >"$letter.needs"
    for needed in $(sed 's/./& /g' <<<"$needs"); do linked+=("./lib$needed.so"); done
    $cc -O1 -fPIC -DSELF="\"$letter\"" -DLETTER="$letter" "$@" -c "$sources/plugin.c" -o "$letter.o"
    $cc -shared -Wl,--no-as-needed "$letter.o" "${linked[@]}" -Wl,-soname,"./lib$letter.so" -o "lib$letter.so"
}
library c ""
library b c -DNEEDS_1=c_count
library a bc -DNEEDS_1=b_sum -DNEEDS_2=c_count
library f ""
$cc -shared -o libe.so -Wl,-soname,./libe.so -x c /dev/null # the two that need each other begin with an empty one
library d e -DNEEDS_1=e_count
library e d -DNEEDS_1=d_count
$cc -O1 -fPIC -c "$sources/program.c" -o program.o
$cc program.o -rdynamic -ldl -o native

for ((seed = 1; seed <= count; seed++)); do
    ./native $seed >expected 2>&1
    ./host $seed >found 2>&1
    none "sequence $seed" "$(diff expected found | head -n 4)"
done
