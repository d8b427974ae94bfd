/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Programs that `tenon build --kind=exe` writes (doc/IMAGE.md, "Executables") consist of a stub, which was linked when
 * Tenon was built, followed by an image. This struct tells the stub about the image: the writer
 * (src/image/write/program.c) finds it in the stub by its symbol and fills it in; in the program it is read-only. */

#ifndef TENON_IMAGE_PROGRAM_H
#define TENON_IMAGE_PROGRAM_H

#include <stdint.h>

/* Distance from the beginning of the program (__ehdr_start), and bytes. */
struct tn__program_part {
    uint64_t at, size;
};

struct tn__program {
    uint64_t image;                /* the header; 0: there is none yet */
    uint64_t main;                 /* of the objects, for an image without one */
    struct tn__program_part relr;  /* the words that hold addresses, coded as RELR */
    struct tn__program_part relro; /* whole pages, read-only after that */
    struct tn__program_part init, fini, code, data, maps, roots;
    struct tn__program_part restore; /* functions of TN_RESTORE */
    uint64_t uses_objects;           /* 1: the image has saved objects, or its code uses some */
};

#define TN__PROGRAM_SYMBOL "tn__program"

#endif
