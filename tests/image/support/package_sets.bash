# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random sets of packages (package_sets.py). $work is a folder.

"$CC" -B"$LLVM_BIN" -fuse-ld=lld -Wall -Wextra -Werror -Iinclude tests/image/source/package_sets_host.c \
    $(PKG_CONFIG_PATH=$PWD/$BUILD/pkgconfig pkg-config --cflags --libs tenon-codegen) -pthread -lm \
    -o "$work/sets_host" || exit 1

# package_sets FIRST END: prints what differs, then `seen COMBINATIONS STALE REFUSED, N failures`.
package_sets() {
    CLANG=$LLVM_BIN/clang TENON=$BUILD/tenon HOST=$work/sets_host \
        python3 tests/image/support/package_sets.py "$work" "$1" "$2"
}
