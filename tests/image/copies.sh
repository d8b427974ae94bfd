# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Functions with copies of another image's bodies and constants (doc/PACKAGES.md): with the same base, with bases in
# which one thing has changed, and what of the image depends on the copies then. The wanted results are those of all
# sources compiled into one program.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tenon=$BUILD/tenon
source=tests/image/source

"$CC" -Wall -Wextra -Werror -Iinclude $source/copies_host.c "$BUILD/libtenon.a" -pthread -o "$work/host" || exit 1
compile() { "$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -fPIC -emit-llvm -c "$@"; }
base() { "$tenon" build --kind=image --name base -o "$work/$1" "${@:2}"; }
user() { "$tenon" build --kind=image --name user -o "$work/user" "$@"; }

# The functions that contain something, by what that is.
all='f k o l t u m w c e s v p plain around fill filled timed begun'
# Those that call stale ones, or read what these write.
declare -A affected=([G=x+100]='around filled begun')
. tests/image/support/copies_changes.bash WEAK=x+40 MORE

# value FUNCTION FILE: its result in a line of them.
value() { grep -o " $1=[-0-9]*" "$2"; }

# opened NAME CHANGE [PROGRAM]: USER with the changed base; or the program has both.
opened() {
    local name=$1 key=${2:-same} function wanted
    if [ $# = 3 ]; then "$3"; else "$work/host" "$work/$key" "$work/user"; fi >"$work/got" 2>&1 ||
        echo "not ok $name, $key: $(cat "$work/got")"
    none "$name, $key: what is stale" "$(diff <(printf '%s\n' ${stale[$key]-}) \
        <(printf '%s\n' $(sed -n 's/^stale://p' "$work/got" | sed 's/user_image/user/g') | sort))"
    for function in $all; do
        [[ " ${affected[$key]-} " == *" $function "* ]] && continue
        wanted=$(value $function "$work/$key.wanted")
        [[ " ${stale[$key]-} " == *" $function "* ]] && wanted=" $function=-1001"
        [ "$(value $function "$work/got")" = "$wanted" ] ||
            echo "not ok $name, $key: $function is$(value $function "$work/got"), not$wanted"
    done
}

three='x86-64;x86-64-v3,clone_all;x86-64-v2'
for setting in 'x86-64 1' 'x86-64 4' "$three 1" "$three 4" 'x86-64 1 -DASSEMBLY' "$three 1 -DASSEMBLY"; do
    read -r targets shards assembly <<<"$setting"
    compile $assembly $source/copies.c -o "$work/user.bc" || exit 1
    succeeds "$setting: it is built" user --targets "$targets" --shards $shards --depends "$work/same" \
        --use "$work/same.bc" "$work/user.bc"
    for change in "${changes[@]}"; do
        opened "$setting" "$change"
    done
    some "$setting: a variable that is stored to once may get another value" \
        "$("$LLVM_BIN/llvm-nm" -S "$work/user" | grep ' 0*4 [bB] cache')"
    # Of stale functions, nothing is left in others: not a result, a value, an argument.
    "$work/host" "$work/G=x+100" "$work/user" >"$work/got"
    answers "$setting: what is affected" " around=-1000 filled=1 begun=1" \
        bash -c 'for f in around filled begun; do printf " %s" $(grep -o " $f=[-0-9]*" "$0"); done' "$work/got"
done

compile $source/copies.c -o "$work/user.bc"

# A shared library, and images that are linked into the program: constructors run before these are opened.
"$tenon" build --kind=shared --name user --depends "$work/same" --use "$work/same.bc" -o "$work/user" "$work/user.bc"
opened "a shared library" G=x+100
for kind in -static-pie -no-pie; do
    for key in same G=x+100 EVEN=2; do
        "$tenon" build --name base_image -o "$work/base.a" "$work/$key.bc" &&
            "$tenon" build --kind=image --name base_image -o "$work/base.image" "$work/same.bc" &&
            "$tenon" build --name user_image --depends "$work/base.image" --use "$work/same.bc" -o "$work/user.a" \
                "$work/user.bc"
        succeeds "linked $kind, $key: it is linked" "$CC" -Wall -Wextra -Werror -Iinclude -DLINKED $kind \
            $source/copies_host.c "$work/user.a" "$work/base.a" "$BUILD/libtenon.a" -pthread -o "$work/linked"
        opened "linked $kind" $key "$work/linked"
    done
done

# Bases that say the same in other words: other names of what is local, debug information, several inputs.
user --depends "$work/same" --use "$work/same.bc" "$work/user.bc"
sed 's/\bx\b/y/g; s/"text"/"te" "xt"/' $source/copies_base.c >"$work/renamed.c"
compile -g "$work/renamed.c" -o "$work/renamed.bc" && base renamed "$work/renamed.bc"
compile -DMORE -Dmore=first -Dg=a1 -Dh=a2 -Douter=a3 -Duses_limit=a4 -Dletter=a5 -Delement=a14 -Dcount=a6 -Deven=a7 \
    -Dodd=a8 -Dkept=a9 -Dweakly=a10 -Dlimit=a11 -Dtable=a12 -Dcounter=a13 $source/copies_base.c -o "$work/before.bc"
base joined "$work/before.bc" "$work/same.bc"
for other in renamed joined; do
    "$work/host" "$work/$other" "$work/user" >"$work/got"
    answers "$other: nothing is stale" stale: head -n 1 "$work/got"
done

# Without on_stale, it is refused; tenon image check says the same.
message="'g' of the image 'base': wanted the body [0-9a-f]\{16\}; found the body [0-9a-f]\{16\}; '[a-z.]*' is stale"
some "a stale function is an error" \
    "$("$work/host" strict "$work/G=x+100" "$work/user" | grep "^TN_ESTALE: $work/user: it uses $message")"
some "and for tenon image check" \
    "$("$tenon" image check "$work/G=x+100" "$work/user" | grep "^- TN_ESTALE: .*$message")"
some "nothing is, with the same base" "$("$work/host" strict "$work/same" "$work/user" | grep -x stale:)"
some "they are shown" "$("$tenon" inspect "$work/user" | grep -x '  m: element, table')"
compile -DG=x+100 -DMORE $source/copies_base.c -o "$work/replaceable.bc"
base replaceable --replaceable=g "$work/same.bc"
some "a replaceable function is not offered" "$("$work/host" strict "$work/replaceable" "$work/user" |
    grep "wanted the body [0-9a-f]*; found nothing of this name; '")"
succeeds "what cannot be copied is called" user --depends "$work/replaceable" --use "$work/same.bc" "$work/user.bc"
none "and its users are not opaque" "$("$tenon" inspect "$work/user" | grep '^    body .g.')"

# Other ways to build it give the same image.
user --depends "$work/same" --use "$work/same.bc" --shards 3 "$work/user.bc" && cp "$work/user" "$work/whole"
for shard in 0 1 2; do
    user --depends "$work/same" --use "$work/same.bc" --shards 3 --shard $shard "$work/user.bc" &&
        mv "$work/user" "$work/shard$shard"
done
user --depends "$work/same" --use "$work/same.bc" --shards 3 "$work/user.bc" "$work"/shard[012]
succeeds "of shards" cmp "$work/user" "$work/whole"
some "a shard with other copies is refused" "$("$tenon" build --kind=image --name user -o "$work/no" --shards 3 \
    --depends "$work/same" --use "$work/renamed.bc" "$work/user.bc" "$work"/shard[012] 2>&1 |
    grep 'was compiled from other input')"
user --depends "$work/same" --use "$work/same.bc" --ninja "$work/user.ninja" "$work/user.bc"
some "ninja knows of it" "$(grep '^build.* | ' "$work/user.ninja" | grep -F "$work/same.bc")"

# fails NAME TEXT OPTION...
fails() { some "$1" "$(user "${@:3}" "$work/user.bc" 2>&1 | grep -F -e "$2")"; }
fails "without a dependency" "--use goes with --depends" --use "$work/same.bc"
fails "what is not IR" ", not LLVM IR" --depends "$work/same" --use "$work/same"
fails "other input than the base's" "it has another 'g' than the image 'base' was built from" --depends "$work/same" \
    --use "$work/G=x+100.bc"
fails "a file that is not there" "cannot read '$work/nothing'" --depends "$work/same" --use "$work/nothing"

# A package between: its own copies do not become those of its users.
printf 'int f(int); int q(int x) { return f(x) + 1; }' >"$work/top.c"
compile "$work/top.c" -o "$work/top.bc"
user --depends "$work/same" --use "$work/same.bc" "$work/user.bc"
"$tenon" build --kind=image --name top --depends "$work/user" --depends "$work/same" --use "$work/user.bc" \
    --use "$work/same.bc" -o "$work/top" "$work/top.bc"
some "through two packages" "$("$tenon" inspect "$work/top" | grep -x '  q: f, g')"
some "what a copy calls is bound" "$("$tenon" inspect "$work/top" | grep "function 'g': i32 (i32)")"

# C++: what is inline is the user's own, a virtual function is reached through a table.
cat >"$work/shape.h" <<'END'
struct shape {
    virtual int area() const;
    int twice() const { return 2 * area(); }
};
END
cat >"$work/shape.cpp" <<'END'
#include "shape.h"
int shape::area() const { return AREA; }
END
cat >"$work/shapes.cpp" <<'END'
#include "shape.h"
int total() { shape s; return s.twice(); }
int none() { return 1; }
END
for area in 3 4; do
    compile -fno-rtti -DAREA=$area "$work/shape.cpp" -o "$work/shape$area.bc" &&
        "$tenon" build --kind=image --name shape -o "$work/shape$area" "$work/shape$area.bc" || exit 1
done
compile -fno-rtti "$work/shapes.cpp" -o "$work/shapes.bc"
succeeds "C++: it is built" "$tenon" build --kind=image --name shapes --depends "$work/shape3" --use "$work/shape3.bc" \
    -o "$work/shapes" "$work/shapes.bc"
some "C++: the same" "$("$tenon" image check "$work/shape3" "$work/shapes" | grep '^2 ')"
some "C++: a virtual function has changed" "$("$tenon" image check "$work/shape4" "$work/shapes" |
    grep "it uses '_ZNK5shape4areaEv' of the image 'shape': wanted the body .* is stale")"

# Random sets of packages (slow/copies.sh has more).
. tests/image/support/copies.bash
random_set 1 --targets 'x86-64;x86-64-v3' --shards 2
some "some functions were stale" "$(grep '^stale' "$work"/*.stale)"
