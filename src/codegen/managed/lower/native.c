/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions that are called without a transition, as they neither wait nor call back: those that C annotates so, and
 * those of the C library, known by name. */

#include "codegen/managed/lower/lower.h"

/* ---- functions of the C library ---- */

/* They do not wait, nor call back. Those of mathematics also with an f or l at the end. */
static const char *const libc_leaves[] = {
    "memccpy",      "memchr",       "memcmp",       "memcpy",        "memmove",       "mempcpy",      "memrchr",
    "memset",       "bcmp",         "bcopy",        "bzero",         "stpcpy",        "stpncpy",      "strcasecmp",
    "strcat",       "strchr",       "strcmp",       "strcpy",        "strcspn",       "strlen",       "strncasecmp",
    "strncat",      "strncmp",      "strncpy",      "strnlen",       "strpbrk",       "strrchr",      "strspn",
    "strstr",       "wcslen",       "abs",          "labs",          "llabs",         "ffs",          "ffsl",
    "ffsll",        "isascii",      "isdigit",      "toascii",       "atoi",          "atol",         "atoll",
    "atof",         "strtol",       "strtoll",      "strtoul",       "strtoull",      "strtod",       "strtof",
    "strtold",      "htonl",        "htons",        "ntohl",         "ntohs",         "__memcpy_chk", "__memmove_chk",
    "__memset_chk", "__strcpy_chk", "__strcat_chk", "__strncpy_chk", "__strncat_chk",
};
static const char *const libm_leaves[] = {
    "acos",      "acosh", "asin",   "asinh", "atan",      "atan2", "atanh",     "cbrt",   "ceil",
    "copysign",  "cos",   "cosh",   "erf",   "exp",       "exp10", "exp2",      "expm1",  "fabs",
    "fdim",      "floor", "fmax",   "fmin",  "fmod",      "frexp", "ldexp",     "log",    "log10",
    "log1p",     "log2",  "logb",   "modf",  "nearbyint", "pow",   "remainder", "rint",   "round",
    "roundeven", "sin",   "sincos", "sinh",  "sqrt",      "tan",   "tanh",      "tgamma", "trunc",
};

static bool is_in(const char *const *list, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i]) == length && strncmp(list[i], name, length) == 0)
            return true;
    return false;
}

static bool is_leaf_name(const char *name)
{
    size_t length = strlen(name);
    bool has_suffix = length > 1 && (name[length - 1] == 'f' || name[length - 1] == 'l');
    return is_in(libc_leaves, TN_COUNT(libc_leaves), name, length) ||
           is_in(libm_leaves, TN_COUNT(libm_leaves), name, length) ||
           (has_suffix && is_in(libm_leaves, TN_COUNT(libm_leaves), name, length - 1));
}

static void mark_leaf(LLVMValueRef function)
{
    tn__set_text(function, TN__LIBC_LEAF, "");
}

/* -fno-builtin, or -fno-builtin-NAME. */
static bool has_no_builtin(LLVMValueRef caller, LLVMValueRef callee)
{
    char key[64] = "no-builtin-";
    size_t length, prefix = strlen(key);
    const char *name = LLVMGetValueName2(callee, &length);
    if (prefix + length < sizeof key)
        memcpy(key + prefix, name, length + 1);
    return tn__has_text(caller, "no-builtins") || tn__has_text(caller, key);
}

bool tn__calls_builtin(LLVMValueRef call)
{
    LLVMValueRef callee = LLVMGetCalledValue(call);
    return LLVMIsAFunction(callee) && LLVMGetCalledFunctionType(call) == LLVMGlobalGetValueType(callee) &&
           !tn__call_attribute(call, TN__ON_FUNCTION, "nobuiltin") && !has_no_builtin(tn__function_of(call), callee);
}

/* ---- annotations of C ---- */

/* Rows of function, text, and where that was written. Attributes of functions come along when a module is divided, and
 * this global does not. */
void tn__mark_annotated_functions(struct tn__gc *gc)
{
    LLVMValueRef global = LLVMGetNamedGlobal(gc->module, "llvm.global.annotations");
    LLVMValueRef rows = global ? LLVMGetInitializer(global) : NULL;
    for (unsigned i = 0; rows && i < (unsigned)LLVMGetNumOperands(rows); i++) {
        LLVMValueRef row = LLVMGetOperand(rows, i), text = NULL;
        size_t length;
        if (LLVMGetNumOperands(row) > 1 && LLVMIsAGlobalVariable(LLVMGetOperand(row, 1)))
            text = LLVMGetInitializer(LLVMGetOperand(row, 1));
        if (text && LLVMIsAFunction(LLVMGetOperand(row, 0)) && LLVMIsConstantString(text) &&
            strcmp(LLVMGetAsString(text, &length), TN__NO_TRANSITION) == 0)
            tn__set_text(LLVMGetOperand(row, 0), TN__NO_TRANSITION, "");
    }
}

void tn__mark_native_functions(struct tn__gc *gc)
{
    tn__llvm_each_library_function(gc->module, is_leaf_name, mark_leaf);
}
