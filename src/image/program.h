/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Programs that `tenon build --kind=exe` writes (doc/IMAGE.md, "Executables") are a stub, which was linked when Tenon was built,
 * with an image behind it. This is what the stub has to know of the image: the writer (src/codegen/image/program.c) finds it in the
 * stub by its symbol and fills it in; in the program it is read-only. */

#ifndef TENON_IMAGE_PROGRAM_H
#define TENON_IMAGE_PROGRAM_H

#include <stdint.h>

/* Distance from the beginning of the program (__ehdr_start), and bytes. */
struct tn__program_part {
    uint64_t at, size;
};

struct tn__program {
    uint64_t image;                /* the header; 0: there is none yet */
    struct tn__program_part relr;  /* the words that hold addresses, coded as RELR */
    struct tn__program_part relro; /* whole pages that are not written any more after that */
    struct tn__program_part init, fini, code, data, maps, roots;
};

#define TN__PROGRAM_SYMBOL "tn__program"

#endif
