# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# doc/EMBEDDING.md, done as it says: its files, its commands, in its order.

. tests/build/install_tree

page=$PWD/doc/EMBEDDING.md
unset LLVM_LINK
install_tree tools/build/install.sh install && PREFIX=$root tools/build/install.sh install musl >>"$work/log"
export PATH="$(realpath "$BUILD"):$PATH"
cd "$work" || exit 1

# The first two blocks of C.
awk '/^```c$/ { file = files[++n] } /^```/ { if ($0 == "```") file = ""; next } file { print >file }
    BEGIN { files[1] = "host.c"; files[2] = "plugin.c" }' "$page"

skip="app\.c|libapp_api"
[ -x "$(command -v tenon)" ] || skip="$skip|tenon export-table|host_symbols|table\.c"
grep -E '^    (cc|musl-gcc|tenon|\./host) ' "$page" | grep -Ev "$skip" >commands
some "commands are found" "$(grep -x '    \./host plugin\.o .*' commands)"
while read -r command; do
    succeeds "${command%% \$(*}" bash -c "$command"
    [ ! -x host ] || [ ! -e plugin.o ] || answers "  and the plugin answers" "plugin: hello" ./host plugin.o
done <commands


sed -i '/^TN_EXPORT/d' host.c
bash -c "$(grep -m 1 ' host\.c ' commands)"
some "without the export the name is undefined" \
    "$(./host plugin.o 2>&1 | grep 'host_say.*plugin\.o\|plugin\.o.*host_say')"
