# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# make.sh KIND CONVENTION FOLDER: FOLDER/a.ll has the caller. A native callee is in FOLDER/b.ll, a managed one in a.ll.

here=$(dirname "$0")
if [ "$1" = native ]; then
    sed "s/CONVENTION/$2/" "$here/caller.ll" >"$3/a.ll" && sed "s/CONVENTION/$2/" "$here/callee.ll" >"$3/b.ll"
else
    sed '/^declare CONVENTION/d' "$here/caller.ll" | cat - "$here/callee.ll" |
        sed "s/CONVENTION/$2/; s/^;managed//" >"$3/a.ll" && echo '; nothing' >"$3/b.ll"
fi
