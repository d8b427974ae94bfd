/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A program with an LLVM of its own, from a shared library, and another version than Tenon's: it makes a module with
 * its LLVM, optimises nothing, and has a compile server make code of it.
 *
 *     other_llvm TENON     the command */

#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <stdio.h>
#include <string.h>

#include "tenon_jit.h"
#include "tenon_remote.h"

static struct tn_error error;

static int failed(const char *what)
{
    printf("%s: %s\n", what, error.text);
    return 1;
}

/* i32 twice(i32): the sum of its argument and itself, which is read from memory. */
static LLVMMemoryBufferRef make_module(void)
{
    LLVMModuleRef module = LLVMModuleCreateWithName("other");
    LLVMTypeRef number = LLVMInt32Type(), type = LLVMFunctionType(number, &number, 1, 0);
    LLVMValueRef function = LLVMAddFunction(module, "twice", type);
    LLVMBuilderRef builder = LLVMCreateBuilder();
    LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlock(function, "entry"));
    LLVMValueRef place = LLVMBuildAlloca(builder, number, "place");
    LLVMBuildStore(builder, LLVMGetParam(function, 0), place);
    LLVMValueRef value = LLVMBuildLoad2(builder, number, place, "value");
    LLVMBuildRet(builder, LLVMBuildAdd(builder, value, value, "sum"));
    LLVMMemoryBufferRef bitcode = LLVMWriteBitcodeToMemoryBuffer(module);
    LLVMDisposeBuilder(builder);
    LLVMDisposeModule(module);
    return bitcode;
}

static int run(struct tn_jit *jit, LLVMMemoryBufferRef bitcode)
{
    struct tn_jit_module module = {.size = sizeof module,
                                   .name = "other",
                                   .ir = LLVMGetBufferStart(bitcode),
                                   .length = LLVMGetBufferSize(bitcode)};
    int (*twice)(int);
    void *address;
    if (tn_jit_add_module(jit, tn_jit_library(jit), &module, &error) || tn_jit_lookup(jit, "twice", &address, &error))
        return failed("twice");
    memcpy(&twice, &address, sizeof twice);
    printf("%d\n", twice(21));
    return 0;
}

int main(int argc, char **argv)
{
    const char *const command[] = {argv[argc - 1], "serve", "--compile", "fd:3", NULL};
    const struct tn_compile_server_options options = {.size = sizeof options, .command = command};
    struct tn_jit_options jit_options = {.size = sizeof jit_options};
    struct tn_compiler *server;
    struct tn_jit *jit;
    LLVMMemoryBufferRef bitcode = make_module();
    if (tn_compile_server_start(&options, &server, &error))
        return failed("server");
    jit_options.compiler = server;
    if (tn_jit_create(&jit_options, &jit, &error))
        return failed("jit");
    int status = run(jit, bitcode);
    tn_jit_destroy(jit);
    tn_compile_server_stop(server);
    LLVMDisposeMemoryBuffer(bitcode);
    return status;
}
