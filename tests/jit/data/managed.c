/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An object with a table of managed code, without the version of the ABI that it is for: a collector that looks refuses
 * it. */

__attribute__((section("tenon_roots"), used)) static const int odd = 1;

int unmanaged(void)
{
    return odd;
}
