/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A plugin of qemu-user: counts the instructions that a program executes from the address `from` to the address `to`,
 * each time, and prints the sum at its end. One thread at a time may be between them. As Debian's qemu-user has no
 * header for plugins, what is used of version 1 of their interface is declared here (QEMU's documentation, "QEMU TCG
 * Plugins").
 *
 *     qemu-aarch64 -d plugin -plugin ./count.so,from=0x400100,to=0x400200 PROGRAM */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_REGISTERS = 0, ADD = 0 };
struct tb;
struct insn;
size_t qemu_plugin_tb_n_insns(const struct tb *tb);
struct insn *qemu_plugin_tb_get_insn(const struct tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct insn *insn);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*translated)(uint64_t id, struct tb *tb));
void qemu_plugin_register_vcpu_insn_exec_inline(struct insn *insn, int operation, void *counter, uint64_t value);
void qemu_plugin_register_vcpu_insn_exec_cb(struct insn *insn, void (*executed)(unsigned cpu, void *data),
                                            int registers, void *data);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*ended)(uint64_t id, void *data), void *data);
void qemu_plugin_outs(const char *text);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;
static uint64_t from, to, executed, begin, sum;

static void begins(unsigned cpu, void *data)
{
    (void)cpu, (void)data;
    begin = begin ? begin : executed;
}

static void ends(unsigned cpu, void *data)
{
    (void)cpu, (void)data;
    sum += begin ? executed - begin : 0;
    begin = 0;
}

static void translated(uint64_t id, struct tb *tb)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct insn *insn = qemu_plugin_tb_get_insn(tb, i);
        uint64_t address = qemu_plugin_insn_vaddr(insn);
        if (address == from || address == to)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, address == from ? begins : ends, NO_REGISTERS, NULL);
        qemu_plugin_register_vcpu_insn_exec_inline(insn, ADD, &executed, 1);
    }
}

static void print(uint64_t id, void *data)
{
    (void)id, (void)data;
    char line[80];
    snprintf(line, sizeof line, "counted: %" PRIu64 "\n", sum);
    qemu_plugin_outs(line);
}

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t id, const void *info, int count, char **given)
{
    (void)info;
    for (int i = 0; i < count; i++)
        *(strncmp(given[i], "from=", 5) ? &to : &from) = strtoull(strchr(given[i], '=') + 1, NULL, 16);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, print, NULL);
    return 0;
}
