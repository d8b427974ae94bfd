/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A shared library with an image in it, written byte by byte as format.h says: two targets, a function with a
 * version for each and a slot, one with one version, a datum that is relocated, a thread-local variable, an unwind
 * table; the function is offered, and used of another sample; and a table of a kind that nobody knows. */

#ifndef TENON_TESTS_IMAGE_SAMPLE_H
#define TENON_TESTS_IMAGE_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

enum {
    SAMPLE_SIZE = 0x3000,
    SAMPLE_IMAGE = 0x400, /* the header */
    SAMPLE_DIRECTORY = SAMPLE_IMAGE + 128,
    SAMPLE_TARGETS = SAMPLE_DIRECTORY + 9 * 20 + 4,
    SAMPLE_FUNCTIONS = SAMPLE_TARGETS + 2 * 80,
    SAMPLE_SETS = SAMPLE_FUNCTIONS + 2 * 8,
    SAMPLE_TEXT = SAMPLE_SETS + 2 * 8,
    SAMPLE_OFFER = SAMPLE_TEXT + 40,
    SAMPLE_EDGE = SAMPLE_OFFER + 24,
    SAMPLE_DEPENDENCY = SAMPLE_EDGE + 24, /* a row that the directory does not count: of another sample */
    SAMPLE_TABLES = SAMPLE_DEPENDENCY + 32 - SAMPLE_IMAGE, /* bytes of header and tables */
    SAMPLE_PLACES = SAMPLE_IMAGE + SAMPLE_TABLES,
    SAMPLE_CODE = 0x1000,
    SAMPLE_DATA = 0x2000,
    SAMPLE_SLOTS = SAMPLE_DATA + 0x100
};

/* Of this process, as ELF has it; 0: it cannot be found out. */
uint16_t sample_machine(void);
/* Fills SAMPLE_SIZE bytes. */
void sample_make(uint8_t *bytes, uint16_t machine);
/* Makes the checksum right again. */
void sample_sign(uint8_t *bytes);

#endif
