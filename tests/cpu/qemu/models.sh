# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Detection and choice on CPUs that are not there (models.txt); on those of x86-64 LLVM is asked as well.

. tests/build/check

here=tests/cpu/qemu
oracle=$BUILD/tests/cpu/llvm/oracle # there is none in a build without LLVM
x86_64="x86-64;x86-64-v2;x86-64-v3;x86-64-v4"
aarch64="generic;cortex-a53;neoverse-n1;a64fx"
riscv64="generic-rv64;generic;generic,+v;generic,+v,+zvl256b"

while read -r arch model expected; do
    [[ $arch != \#* ]] || continue
    none "$arch $model" "$("qemu-$arch-static" -cpu "$model" "$BUILD/$here/probe-$arch" "${!arch}" 2>&1 |
        grep -v 'warning: TCG\|vector version' | diff - <(echo "$expected"))"
    if [ "$arch" = x86_64 ] && [ -x "$oracle" ]; then
        succeeds "$arch $model, as LLVM sees it" "qemu-$arch-static" -cpu "$model" "$oracle" "*see*"
    fi
done <$here/models.txt
