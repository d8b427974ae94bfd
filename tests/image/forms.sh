# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What functions and data of C can be, in images of every kind, on every CPU, in one piece and in several.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=tests/image/source
targets='x86-64;x86-64-v2;x86-64-v3;x86-64-v4,clone_all'
link() { "$CC" -Wall -Wextra -Werror -Iinclude "$@"; }

link $source/forms_host.c "$BUILD/libtenon.a" -rdynamic -o "$work/loading" || exit 1
for way in '' -DNO_ASSEMBLY; do # assembly keeps a module in one piece
    "$LLVM_BIN/clang" $way -Wall -Wextra -Werror -O1 -Xclang -disable-llvm-passes -emit-llvm -fPIC -c $source/forms.c \
        -o "$work/forms.bc" || exit 1
    for kind in archive shared image; do
        succeeds "$kind $way: it is built" "$BUILD/tenon" build --kind=$kind --shards 4 --targets "$targets" \
            -o "$work/$kind" "$work/forms.bc"
    done
    link -DLINKED $source/forms_host.c "$work/archive" "$BUILD/libtenon.a" -o "$work/linked" || exit 1
    for cpu in x86-64 x86-64-v2 x86-64-v3 x86-64-v4; do
        "$BUILD/tenon" cpu --targets $cpu >/dev/null 2>&1 || { echo "ok $cpu # SKIP this CPU is less"; continue; }
        for program in linked 'loading shared' 'loading image'; do
            set -- $program
            said=$("$work/$1" $cpu ${2:+"$work/$2"} 2>&1)
            if [ "$said" = "$cpu: 0" ]; then
                echo "ok $program $way, $cpu"
            else
                echo "not ok $program $way, $cpu: $said"
            fi
        done
    done
done
