# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# newer.py BITCODE: as if a later LLVM had written it, with records that this one does not know. Strings lie at any bit.

import sys

letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._"


def text(string, width):
    codes = map(letters.index if width == 6 else ord, string)
    return "".join(format(code, "0%db" % width)[::-1] for code in codes)


data = bytearray(open(sys.argv[1], "rb").read())
half = len(data) // 2
data[half : half + 64] = bytes(64)
bits = "".join(format(byte, "08b")[::-1] for byte in data)
for width in 6, 7, 8:
    bits = bits.replace(text("LLVM22", width), text("LLVM99", width))
assert any(text("LLVM99", width) in bits for width in (6, 7, 8))
sys.stdout.buffer.write(bytes(int(bits[at : at + 8][::-1], 2) for at in range(0, len(bits), 8)))
