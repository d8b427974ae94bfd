/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The format of an image's metadata (doc/IMAGE.md, "Format"), byte by byte: offsets, and what its writer
 * (src/codegen/image) and its reader share. Everything is little-endian; offsets and sizes are in bytes. The header is
 * at a multiple of 64; the directory, the tables and the places follow it. */

#ifndef TENON_IMAGE_FORMAT_H
#define TENON_IMAGE_FORMAT_H

#include "base/base.h"
#include "tenon_cpu.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

#define TN__IMAGE_MAGIC "\x89TNIM\r\n\x1a"

enum { TN__IMAGE_ID = 16 };
enum { TN__IMAGE_VERSION = 4, TN__IMAGE_BYTE_ORDER = 0x01020304, TN__IMAGE_LINUX = 1, TN__IMAGE_TARGETS = 64 };

/* The header. */
enum {
    TN__IMAGE_AT_VERSION = 8,
    TN__IMAGE_AT_SIZE = 12,     /* of header, directory and tables, a multiple of 8; the places follow them */
    TN__IMAGE_AT_CHECKSUM = 16, /* of header and tables, with zeros here */
    TN__IMAGE_AT_BYTE_ORDER = 24,
    TN__IMAGE_AT_MACHINE = 28,    /* ELF's e_machine, 16 bits */
    TN__IMAGE_AT_POINTER = 30,    /* bytes of a pointer, 8 bits */
    TN__IMAGE_AT_SYSTEM = 31,     /* 8 bits */
    TN__IMAGE_AT_ABI = 32,        /* TN_RUNTIME_ABI */
    TN__IMAGE_AT_CPU_TABLES = 36, /* TN_CPU_TABLES; only shown to users */
    TN__IMAGE_AT_BUILD_ID = 40,   /* TN__IMAGE_ID bytes */
    TN__IMAGE_AT_SLOTS = 56,      /* how many */
    TN__IMAGE_AT_PLACES = 60,     /* how many */
    TN__IMAGE_AT_DIRECTORY = 64,  /* how many rows it has; it follows the header */
    TN__IMAGE_AT_ROW = 68,        /* bytes of each of these rows */
    TN__IMAGE_AT_NAME = 72,       /* of the image: its symbol */
    TN__IMAGE_AT_GC_ABI = 76,     /* TN_GC_ABI of its managed code; 0: it has none */
    TN__IMAGE_AT_OFFERS = 80,     /* digest of all that it offers to other images (tn__image_digest); 0: nothing */
    TN__IMAGE_AT_ZEROS = 88,
    TN__IMAGE_HEADER = 128
};

/* A row of the directory: a table. Rows, here and in tables, may be longer than what is known of them. */
enum {
    TN__IMAGE_ENTRY_KIND = 0, /* enum tn__image_table */
    TN__IMAGE_ENTRY_FLAGS = 4,
    TN__IMAGE_ENTRY_ROW = 8,     /* bytes of each row of the table */
    TN__IMAGE_ENTRY_OFFSET = 12, /* from the header */
    TN__IMAGE_ENTRY_ROWS = 16,   /* how many */
    TN__IMAGE_ENTRY = 20
};

#define TN__IMAGE_REQUIRED UINT32_C(1) /* a flag: who does not know this kind must not open the image */

/* Kinds of tables. Numbers of kinds are never used again for others. */
enum tn__image_table {
    TN__IMAGE_TARGET_TABLE,
    TN__IMAGE_FUNCTION_TABLE,
    TN__IMAGE_SET_TABLE,        /* 8 bytes each: targets, as bits */
    TN__IMAGE_NEED_TABLE,       /* host symbols: 4 bytes each, the name */
    TN__IMAGE_DEPENDENCY_TABLE, /* other images */
    TN__IMAGE_TEXT_TABLE,       /* bytes: strings, each with its NUL */
    TN__IMAGE_CODE_TABLES,      /* how many kinds every image has; the following are those of a heap */
    TN__IMAGE_ZONE_TABLE = TN__IMAGE_CODE_TABLES,
    TN__IMAGE_LIST_TABLE,                          /* words to be adjusted */
    TN__IMAGE_BINDING_TABLE,                       /* words that hold addresses of the program */
    TN__IMAGE_TYPE_TABLE,                          /* by name */
    TN__IMAGE_ROOT_TABLE,                          /* by name */
    TN__IMAGE_UNIQUE_TABLE,                        /* objects that may give way to others */
    TN__IMAGE_USE_TABLE,                           /* words that refer to these */
    TN__IMAGE_PATCH_TABLE,                         /* words of other images */
    TN__IMAGE_HEAP_TABLES,                         /* the end of those of a heap */
    TN__IMAGE_VALUE_TABLE = TN__IMAGE_HEAP_TABLES, /* types and objects that code uses; few images have it */
    TN__IMAGE_LAYOUT_TABLE,                        /* types that code was compiled with; few images have it */
    TN__IMAGE_CELL_TABLE,                          /* replaceable functions; few images have it */
    TN__IMAGE_OFFER_TABLE,                         /* what other images may use: items */
    TN__IMAGE_EDGE_TABLE,                          /* what it uses of other images: items */
    TN__IMAGE_REACHED_TABLE,                       /* what only its dependencies depend on: 4 bytes each, the name */
    TN__IMAGE_RELIANCE_TABLE,                      /* which functions are stale when an edge differs */
    TN__IMAGE_KEPT_TABLE,                          /* functions whose IR the file has, to be compiled again */
    TN__IMAGE_SHARED_TABLE,                        /* what this IR only declares: 4 bytes each, the name; sorted */
    TN__IMAGE_SETTING_TABLE,                       /* what it is compiled for, by target */
    TN__IMAGE_TABLES                               /* how many kinds are known */
};

/* A row of the target table. */
enum {
    TN__IMAGE_TARGET_NAME = 0, /* offset in the text table, as all names */
    TN__IMAGE_TARGET_EXTRA = 4,
    TN__IMAGE_TARGET_FLAGS = 8, /* TN_CPU_... */
    TN__IMAGE_TARGET_BASE = 12, /* 0, or the row of an earlier target that has a version of every function */
    TN__IMAGE_TARGET_ENABLED = 16,
    TN__IMAGE_TARGET = TN__IMAGE_TARGET_ENABLED + 8 * TN_CPU_WORDS
};

/* A row of the function table. Row n is the function of slot n; those with a slot are followed by public functions with
 * one version, and opaque ones. Both parts are sorted by name, in strcmp's order, without duplicates. The set of a
 * function with a slot has target 0 and every target with TN_CPU_CLONE_ALL; that of one without a slot is 1. */
enum {
    TN__IMAGE_FUNCTION_NAME = 0,
    TN__IMAGE_FUNCTION_VERSIONS =
        4, /* row of the table of sets: the targets that have a version; and TN__IMAGE_PUBLIC */
    TN__IMAGE_FUNCTION = 8
};

#define TN__IMAGE_PUBLIC UINT32_C(0x80000000) /* may be looked up */

/* A row of the dependency table. Rows without the last two fields are of images that have to be the same build. */
enum {
    TN__IMAGE_DEPENDENCY_NAME = 0,
    TN__IMAGE_DEPENDENCY_ID = 4,
    TN__IMAGE_DEPENDENCY = 20,
    TN__IMAGE_DEPENDENCY_FLAGS = 20,
    TN__IMAGE_DEPENDENCY_OFFERS = 24, /* digest of all that the image offered */
    TN__IMAGE_DEPENDENCY_USED = 32
};
#define TN__IMAGE_BY_USE UINT32_C(1) /* another build will do if what the edges say is the same there */

/* A row of the tables of offers and of edges, sorted by kind and name. The description of an item is its text,
 * alignment and size (0: it has none); these are equal where a user of the item need not be compiled again. */
enum {
    TN__IMAGE_ITEM_KIND = 0,       /* 8 bits: enum tn__image_item_kind */
    TN__IMAGE_ITEM_DEPENDENCY = 1, /* of an edge, 24 bits: row of the dependency */
    TN__IMAGE_ITEM_NAME = 4,
    TN__IMAGE_ITEM_TEXT = 8,
    TN__IMAGE_ITEM_ALIGNMENT = 12,
    TN__IMAGE_ITEM_SIZE = 16, /* or a digest; of an edge to a function: where its row was in the table of offers */
    TN__IMAGE_ITEM = 24
};

enum tn__image_item_kind {
    TN__ITEM_FUNCTION,        /* no alignment and size; text: its type, with all that the ABI depends on */
    TN__ITEM_VARIABLE,        /* text: the layout that it describes, if it is the descriptor of a type */
    TN__ITEM_THREAD_VARIABLE, /* text: the model of thread-local storage */
    TN__ITEM_TYPE,            /* text: digest of the descriptor */
    TN__ITEM_FACT,            /* text: digest */
    TN__ITEM_BODY,            /* of a function that may be copied; size: digest */
    TN__ITEM_CONSTANT,        /* the value of a variable that may be copied; size: digest */
    TN__ITEMS
};

/* A row of the table of reliances, sorted: the function of a cell may contain a copy of what an edge is to, which is of
 * the kinds from TN__ITEM_BODY on. */
enum { TN__IMAGE_RELIANCE_CELL = 0, TN__IMAGE_RELIANCE_EDGE = 4, TN__IMAGE_RELIANCE = 8 };

/* A row of the table of kept functions, sorted by cell. The offset of the IR counts from the beginning of the image's
 * part of the section TN__IMAGE_IR_SECTION. */
enum {
    TN__IMAGE_KEPT_CELL = 0,
    TN__IMAGE_KEPT_FLAGS = 4,
    TN__IMAGE_KEPT_REGISTERS = 8, /* arguments that are references to managed objects, as in struct tn_lazy_symbol */
    TN__IMAGE_KEPT_STACK = 12,
    TN__IMAGE_KEPT_OFFSET = 16, /* bitcode of a module that defines the function, its name followed by "$body" */
    TN__IMAGE_KEPT_SIZE = 20,
    TN__IMAGE_KEPT_SUM = 24, /* tn__image_checksum of the bitcode, with seed 0 */
    TN__IMAGE_KEPT = 32
};
#define TN__IMAGE_KEPT_COMMON UINT32_C(1) /* it is compiled for what all targets have */

/* A row of the table of settings: row n is of target n, and the last one of what all targets have. */
enum {
    TN__IMAGE_SETTING_CPU = 0, /* LLVM's names, in the text table */
    TN__IMAGE_SETTING_FEATURES = 4,
    TN__IMAGE_SETTING_LEVEL = 8, /* of optimisation */
    TN__IMAGE_SETTING = 12
};

/* The section with the IR, which is not loaded. Each image of a file has a part of it, at a multiple of 8, which begins
 * with these 8 bytes and its size; between them may be what other compilers have put there. The checksum of a function
 * tells which part is the image's. */
#define TN__IMAGE_IR_SECTION ".llvmbc"
#define TN__IMAGE_IR_MAGIC   "\211TNI\r\n\032\n"
enum { TN__IMAGE_IR_AT_SIZE = 8, TN__IMAGE_IR_HEADER = 16 };

/* ---- heaps: places in these tables are distances from the beginning of the first zone ----
 *
 * Objects have headers and payloads as in memory (doc/GC.md, "Objects"): the header is the address of the type, plus 3
 * (TN_PERMANENT) for objects with references in the last two zones, and plus 12 if a hash is stored after the payload.
 * The words hold addresses for the intended place. The header of an object of the program's type has only the bits. An
 * image without code has one target, without features, no slots, and one place. */

/* Zones, in the order in which they follow each other. */
enum tn__image_zone {
    TN__ZONE_FROZEN,  /* never written: types, frozen objects */
    TN__ZONE_SEALED,  /* the same for what holds addresses of the program; read-only once these are stored */
    TN__ZONE_BOUND,   /* objects that hold addresses of the program */
    TN__ZONE_MUTABLE, /* all others */
    TN__ZONES
};

/* A row of the zone table. */
enum {
    TN__IMAGE_ZONE_KIND = 0,     /* enum tn__image_zone */
    TN__IMAGE_ZONE_PAGE = 4,     /* the largest page size of systems that can map it */
    TN__IMAGE_ZONE_PLACE = 8,    /* from the header, 64 bits; 0 if the image has code: it is among the places */
    TN__IMAGE_ZONE_ADDRESS = 16, /* that it is intended for: without code, that of its segment in the file */
    TN__IMAGE_ZONE_SIZE = 24,    /* whole pages; without code, that of its segment */
    TN__IMAGE_ZONE_OBJECTS = 32, /* bytes with objects, at its beginning */
    TN__IMAGE_ZONE = 40
};

/* A row of the list table: words to which the distance of something from its intended address is added. */
enum {
    TN__IMAGE_LIST_OF = 0,    /* enum tn__image_list */
    TN__IMAGE_LIST_INDEX = 4, /* of the row of a dependency, or of a type of the program */
    TN__IMAGE_LIST_PLACE = 8, /* from the header, or from the lists of an image with code; 64 bits */
    TN__IMAGE_LIST_SIZE = 16, /* bytes; coded as RELR */
    TN__IMAGE_LIST_BASE = 24, /* the address that the words assume */
    TN__IMAGE_LIST_SUM = 32,  /* tn__image_checksum of the list, with seed 0 */
    TN__IMAGE_LIST = 40
};

enum tn__image_list {
    TN__LIST_OWN,        /* addresses of this heap */
    TN__LIST_DEPENDENCY, /* addresses of another image's heap */
    TN__LIST_HOST_TYPE,  /* headers of objects whose type is the program's */
    TN__LISTS
};

/* A row of the binding table, sorted by place: the word is symbol + addend. */
enum { TN__IMAGE_BINDING_NAME = 0, TN__IMAGE_BINDING_PLACE = 8, TN__IMAGE_BINDING_ADDEND = 16, TN__IMAGE_BINDING = 24 };

/* A row of the type table: where the descriptor is. That of a type of the program is there to be compared. */
enum { TN__IMAGE_TYPE_NAME = 0, TN__IMAGE_TYPE_FLAGS = 4, TN__IMAGE_TYPE_PLACE = 8, TN__IMAGE_TYPE = 16 };
#define TN__IMAGE_HOST_TYPE UINT32_C(1)

/* A row of the root table: the word that refers to the object. */
enum { TN__IMAGE_ROOT_NAME = 0, TN__IMAGE_ROOT_PLACE = 8, TN__IMAGE_ROOT = 16 };

/* A row of the table of unique objects. Its uses are rows that follow each other. */
enum {
    TN__IMAGE_UNIQUE_KEY = 0, /* offset in the text table, where it need not end with a NUL */
    TN__IMAGE_UNIQUE_KEY_SIZE = 4,
    TN__IMAGE_UNIQUE_FIRST = 8, /* use */
    TN__IMAGE_UNIQUE_USES = 12,
    TN__IMAGE_UNIQUE_PLACE = 16,
    TN__IMAGE_UNIQUE = 24
};

/* A row of the table of uses: an object that refers to a unique one, and the word. */
enum { TN__IMAGE_USE_OBJECT = 0, TN__IMAGE_USE_PLACE = 8, TN__IMAGE_USE = 16 };

/* A row of the table of patches, sorted by dependency and place: a word of an object of a dependency's, and what is
 * stored there. `object` and `place` are places in the dependency's heap. */
enum {
    TN__IMAGE_PATCH_DEPENDENCY = 0, /* row of its table */
    TN__IMAGE_PATCH_OF = 4,         /* enum tn__image_patch_of */
    TN__IMAGE_PATCH_INDEX = 8,
    TN__IMAGE_PATCH_FLAGS = 12,
    TN__IMAGE_PATCH_OBJECT = 16,
    TN__IMAGE_PATCH_PLACE = 24,
    TN__IMAGE_PATCH_VALUE = 32,
    TN__IMAGE_PATCH = 40
};
#define TN__IMAGE_PATCH_REFERENCE UINT32_C(1) /* the word is a reference */

enum tn__image_patch_of {
    TN__PATCH_NUMBER,     /* the value itself; index: 0 */
    TN__PATCH_OWN,        /* the address of this place here; index: 0, or 1 + row of the unique object that is there */
    TN__PATCH_DEPENDENCY, /* of this place in the heap of another dependency; index: its row */
    TN__PATCH_SYMBOL,     /* of a symbol of the program, plus the value; index: offset of its name in the text table */
    TN__PATCHES
};

/* A row of the table of values: row n says what word n of the values is (enum tn_image_value_of). */
enum { TN__IMAGE_VALUE_NAME = 0, TN__IMAGE_VALUE_OF = 4, TN__IMAGE_VALUE = 8 };

/* A row of the table of layouts: what a type descriptor of the code says of the type of this name. */
enum {
    TN__IMAGE_LAYOUT_NAME = 0,
    TN__IMAGE_LAYOUT_KIND = 4, /* enum tn_kind */
    TN__IMAGE_LAYOUT_ALIGNMENT = 8,
    TN__IMAGE_LAYOUT_OFFSETS = 12, /* in the text table: 4 bytes each; 0: there is no list */
    TN__IMAGE_LAYOUT_SIZE = 16,
    TN__IMAGE_LAYOUT_ELEMENT = 24,
    TN__IMAGE_LAYOUT_LENGTH = 32,
    TN__IMAGE_LAYOUT_REFERENCES = 40,
    TN__IMAGE_LAYOUT_OFFSET_COUNT = 48,
    TN__IMAGE_LAYOUT = 56
};

/* A row of the table of cells, which is in the order of these: the row of the function that cell n leads. A cell has
 * two words: where calls of the function go on, zero as long as nothing else than its version was asked for, and one
 * that is zero. */
enum { TN__IMAGE_CELL_FUNCTION = 0, TN__IMAGE_CELL_ROW = 4, TN__IMAGE_CELL = 16 };

/* Place 0 is that of the slots. Then come, for each target, the versions that the slots lead to on it, in the order of
 * the slots; then the functions without a slot, in the order of their rows. So what one target needs lies together.
 * Then come the places of the table of offers, one for each row: the entry of a function, a variable, or 0. If there
 * are values, the next place is theirs. An image with code and objects always has that place: after its values comes a
 * word that is 1 while it is open, and after the place those of zones, in the order of their rows, and of the lists. If
 * there are cells, the next place is theirs, and then come the entries of their functions, in the order of their rows.
 * If there are shared symbols, the last place is that of their addresses, 8 bytes for each row of their table; 0: it is
 * found elsewhere by its name, or an edge leads to it. A place has 4 bytes, a signed distance from the header. */
enum { TN__IMAGE_SLOT_PLACE = 0, TN__IMAGE_FIRST_VERSION = 1 };

/* The first bytes of a shard that one process has compiled for another (src/codegen/image/shard.c). */
#define TN__IMAGE_SHARD_MAGIC "\211TNS\r\n\032\n"

/* The note that locates the image in a file: name "Tenon", this type, and 16 bytes: the distance from the beginning of
 * the note to the header, as a signed 32-bit number, zeros, and the checksum of the whole file (verify.c), or 0 if the
 * linker made none. */
#define TN__IMAGE_NOTE_NAME "Tenon"
enum { TN__IMAGE_NOTE_TYPE = 1, TN__IMAGE_NOTE_SIZE = 16, TN__IMAGE_NOTE_AT = 20, TN__IMAGE_NOTE_SUM = 28 };

/* Tags of a file's dynamic section: address and size in bytes of the stack maps, of the root ranges and of the versions
 * of the ABI (doc/GC.md) of its managed code. They are in the range reserved for operating systems (gABI, "Dynamic
 * Section"), so other loaders ignore them. */
enum {
    TN__IMAGE_DT_MAPS = 0x65746e01,
    TN__IMAGE_DT_MAPS_SIZE,
    TN__IMAGE_DT_ROOTS,
    TN__IMAGE_DT_ROOTS_SIZE,
    TN__IMAGE_DT_ABI,
    TN__IMAGE_DT_ABI_SIZE,
};

/* ---- machines.c ---- */

/* ELF's number of an architecture, by its tn_cpu_arch_name (0: it has none here), and the other way round
 * ("unknown"). */
uint16_t tn__image_machine(const char *arch);
const char *tn__image_arch_name(uint16_t machine);

/* ---- checksum.c ---- */

uint64_t tn__image_checksum(const void *bytes, size_t size, uint64_t seed);

/* The checksum of a header with its tables, `size` bytes, at least TN__IMAGE_HEADER: of the bytes after the header,
 * with that of the header as their seed. */
uint64_t tn__image_header_checksum(const uint8_t *header, size_t size);

/* ---- verify.c ---- */

/* True if one of these notes is that of an image, which begins at *at. */
bool tn__image_find_note(const uint8_t *notes, uint64_t size, uint64_t *at);

/* The checksum over everything of a file that is loaded, and its offset in the file. False: the file has no image, or
 * is truncated. */
bool tn__image_file_sum(const uint8_t *bytes, size_t size, uint64_t *sum, uint64_t *at);

/* The same for a file of which these parts are in memory: everything of it that is loaded, each segment within one of
 * them, and what it begins with. */
struct tn__image_bytes {
    uint64_t offset; /* in the file */
    const uint8_t *bytes;
    uint64_t size;
};
bool tn__image_parts_sum(const struct tn__image_bytes *parts, size_t count, uint64_t *sum, uint64_t *at);

/* Compares the checksum of a file. TN_EFORMAT, TN_ENOTSUP (the file has none). */
int tn__image_verify(const char *name, const uint8_t *bytes, size_t size, struct tn_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
