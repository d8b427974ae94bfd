/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Versions, errors, and structs with a size: what every other header builds on.
 *
 * Every function that can fail returns 0 or a negative code of enum tn_code. On failure it fills in `err` unless that
 * is NULL; on success `err` is left untouched. It belongs to the caller, so threads never share one.
 *
 * A pointer to what a function reads or writes may be NULL only where its comment says so, and for an array of 0
 * elements. Otherwise functions that can fail return TN_EINVAL, which their comments do not repeat; with others, the
 * behaviour is undefined.
 *
 *     struct tn_error err;
 *     if (tn_link(library, &err))
 *         fprintf(stderr, "%s: %s\n", tn_error_name(err.code), err.text);
 *
 * A struct whose first member is `size` has that set to its sizeof by the caller; later versions only append members.
 * This keeps callers of other versions working. Members that an older, smaller struct lacks are taken as zero, which
 * selects the default. A newer, larger struct is accepted if all members unknown to this version are zero; otherwise
 * the call fails with TN_EINVAL, so no request is ever silently ignored. In structs that return results, members
 * unknown to this version are zeroed and `size` is set to the number of bytes filled in. */

#ifndef TENON_API_BASE_H
#define TENON_API_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_VERSION_MAJOR  0
#define TN_VERSION_MINOR  1
#define TN_VERSION_PATCH  0
#define TN_VERSION_STRING "0.1.0"

/* Version of the contract between compiled code and this runtime; recorded in images. */
#define TN_RUNTIME_ABI 1

#if defined(__GNUC__)
#define TN_API __attribute__((visibility("default")))
#else
#define TN_API
#endif

/* All errors: name, code, text. */
#define TN_ERROR_LIST(X)                                                                                               \
    X(TN_EINVAL, -1, "invalid argument")                                                                               \
    X(TN_ENOMEM, -2, "out of memory")                                                                                  \
    X(TN_EPERM, -3, "executable memory refused")                                                                       \
    X(TN_EIO, -4, "input or output failed")                                                                            \
    X(TN_EFORMAT, -5, "malformed or foreign input")                                                                    \
    X(TN_ENOTSUP, -6, "valid input that is not supported")                                                             \
    X(TN_ERANGE, -7, "value out of a relocation's or field's range")                                                   \
    X(TN_EUNDEF, -8, "undefined symbol")                                                                               \
    X(TN_EDUP, -9, "duplicate definition")                                                                             \
    X(TN_ECOMPILE, -10, "the IR was rejected")                                                                         \
    X(TN_EFATAL, -11, "the code generator gave up")                                                                    \
    X(TN_ECYCLE, -12, "would wait for itself")                                                                         \
    X(TN_EREMOVED, -13, "removed meanwhile")                                                                           \
    X(TN_ECANCELLED, -14, "cancelled")                                                                                 \
    X(TN_ESTALE, -15, "what it was compiled with has changed")                                                         \
    X(TN_EREMOTE, -16, "the other process is gone, or broke the protocol")

enum tn_code {
    TN_OK = 0,
#define TN_X(name, code, text) name = code,
    TN_ERROR_LIST(TN_X)
#undef TN_X
};

/* Owned by the caller; need not be initialised. `text` is NUL-terminated, one sentence or several lines; if it does not
 * fit, it is truncated and ends with an ellipsis. */
struct tn_error {
    int code; /* enum tn_code */
    char text[2044];
};

/* Bytes owned by the caller; free with tn_buffer_free. */
struct tn_buffer {
    void *data;
    size_t size;
};

TN_API void tn_buffer_free(struct tn_buffer *buffer); /* NULL and an empty buffer are ignored */

TN_API const char *tn_version(void);          /* "0.1.0", static */
TN_API const char *tn_error_name(int code);   /* "TN_EUNDEF"; "TN_?" for an unknown code; static */
TN_API const char *tn_error_string(int code); /* the text from the list; static */

#ifdef __cplusplus
}
#endif
#endif
