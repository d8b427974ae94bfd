# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random sets of three packages that have copies of each other's bodies, and every combination of what was built before
# and after a change of some of them. Which functions are stale follows from the graph of calls (copies.awk); what the
# others answer, from all sources in one program. $work is a folder. With $again, stale functions are compiled again,
# and all functions answer.

: "${again:=}"
libraries=("$BUILD/libtenon.a")
[ -z "$again" ] ||
    libraries=(-DAGAIN $(PKG_CONFIG_PATH=$PWD/$BUILD/pkgconfig pkg-config --libs tenon-codegen) -lm)
"$CC" -B"$LLVM_BIN" -fuse-ld=lld -Wall -Wextra -Werror -Iinclude tests/image/source/copies_set.c "${libraries[@]}" \
    -pthread -o "$work/set" || exit 1

generate() { awk -v seed="$1" -v changed="$2" "${@:3}" -f tests/image/support/copies.awk; }

# changes SEED: names of what changes.
changes() { awk -v seed="$1" 'BEGIN { srand(seed); for (i = 0; i < 3; i++)
    print (rand() < 0.3 ? "t" : "f") int(rand() * 2) "_" int(rand() * 3) }' | sort -u | tr '\n' ' '; }

# package AGE NUMBER OPTION...
package() {
    local folder=$work/$1 number=$2 other options=()
    for ((other = 0; other < number; other++)); do
        options+=(--depends "$folder/$other.image" --use "$folder/$other.bc")
    done
    "$LLVM_BIN/clang" -w -O1 -Xclang -disable-llvm-passes -fPIC -emit-llvm -c "$folder/$number.c" \
        -o "$folder/$number.bc" &&
        "$tenon" build --kind=image --name p$number ${again:+--keep-ir} "${options[@]}" "${@:3}" \
            -o "$folder/$number.image" "$folder/$number.bc"
}

# of_package PACKAGE NAMES: those of them that are of the package.
of_package() { grep -o "[ft]$1_[0-9]*" <<<"$2"; }

# combination NAME SEED CHANGED AGE0 AGE1 AGE2
combination() {
    local name=$1 seed=$2 changed=$3 ages=("${@:4}") user other different stale=$work/$4_$5_$6.stale
    "$CC" -w "$work/new/main.c" "$work/${ages[0]}/0.c" "$work/${ages[1]}/1.c" "$work/${ages[2]}/2.c" \
        -o "$work/program" && "$work/program" >"$work/wanted" || echo "not ok $name: no program"
    for user in 1 2; do
        different=
        for ((other = 0; other < user; other++)); do
            [ "${ages[other]}" = "${ages[user]}" ] || different+=" $(of_package $other "$changed" | tr '\n' ' ')"
        done
        generate "$seed" "$different" -v user=$user | sed 's/^/stale /'
    done >"$stale"
    "$work/set" "$work/${ages[0]}/0.image" "$work/${ages[1]}/1.image" "$work/${ages[2]}/2.image" >"$work/got" 2>&1
    none "$name: what is stale" "$(diff <(sort "$stale") <(grep '^stale\|^TN' "$work/got" | sort))"
    none "$name: what others answer" "$(grep -vxFf "$work/wanted" "$work/got" | grep -v '^stale\|=?$')"
    [ -z "$again" ] || none "$name: all answer" "$(grep '=?$' "$work/got")"
    [ "$(grep -c = "$work/got")" = 18 ] || echo "not ok $name: $(grep -c = "$work/got") functions answered"
}

# random_set SEED OPTION...
random_set() {
    local seed=$1 changed age number a b c
    changed=$(changes "$seed")
    for age in old new; do
        mkdir -p "$work/$age"
        generate "$seed" "$([ $age = old ] || echo "$changed")" -v out="$work/$age"
        for number in 0 1 2; do
            package $age $number "${@:2}" || echo "not ok set $seed, $age: package $number is not built"
        done
    done
    for a in old new; do
        for b in old new; do
            for c in old new; do
                combination "set $* of $a $b $c" "$seed" "$changed" $a $b $c
            done
        done
    done
}
