/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A small `lua`: runs the script that its first argument names, with the rest in `arg`. */

#include <stdio.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

static void push_arguments(lua_State *L, int argc, char **argv)
{
    lua_createtable(L, argc, 0);
    for (int i = 1; i < argc; i++) {
        lua_pushstring(L, argv[i]);
        lua_rawseti(L, -2, i - 1); /* the script is arg[0] */
    }
    lua_setglobal(L, "arg");
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s SCRIPT [ARG...]\n", argv[0]);
        return 2;
    }
    lua_State *L = luaL_newstate();
    if (!L)
        return 1;
    luaL_openlibs(L);
    push_arguments(L, argc, argv);
    int failed = luaL_dofile(L, argv[1]);
    if (failed)
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
    lua_close(L);
    return failed != 0;
}
