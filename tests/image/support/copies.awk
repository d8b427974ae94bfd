# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A random set of packages 0 to 2 that use each other, for tests/image/support/copies.bash:
#
#     awk -v seed=N -v changed='f0_1 t1_2' -v out=FOLDER -f copies.awk
#
# writes FOLDER/0.c to 2.c, in which these functions and tables have other contents, and FOLDER/main.c, which prints
# what all functions answer. With `-v user=PACKAGE` in place of `out`, it prints the functions of this package that are
# stale then.

function pick(n) { return int(rand() * n) }

# Plain functions and tables may be copied. Others are reached by calls alone.
function kind_of(n) { return n < 6 ? "plain" : n < 7 ? "noinline" : n < 8 ? "weak" : n < 9 ? "own" : "helped" }

function refer(from, package, before, other, n) {
    other = pick(package + 1)
    if (pick(3) == 0) {
        n = "t" other "_" pick(TABLES)
    } else {
        n = other < package ? pick(FUNCTIONS) : before ? pick(before) : -1
        n = n < 0 ? "" : "f" other "_" n
    }
    if (n != "" && !((from, n) in refers)) {
        refers[from, n] = 1
        list[from] = list[from] " " n
    }
}

function value(name) { return number[name] + (name in is_changed ? 1000 : 0) }

function reference(name) { return name ~ /^t/ ? name "[x & 3]" : name "(x + 1)" }

function terms(name, count, names, i, text) {
    count = split(list[name], names, " ")
    for (i = 1; i <= count; i++)
        text = text " + " reference(names[i])
    return text
}

function package_of(name) { return substr(name, 2, 1) }

# Adds what a function of `package` may have copies of.
function reach(name, package, count, names, i) {
    count = split(list[name], names, " ")
    for (i = 1; i <= count; i++)
        if (package_of(names[i]) != package && (kind[names[i]] == "plain") && !(names[i] in reached)) {
            reached[names[i]] = 1
            reach(names[i], package)
        }
}

function is_stale(name, package, other) {
    split("", reached)
    reach(name, package)
    for (other in reached)
        if (other in is_changed)
            return 1
    return 0
}

function write_package(package, file, i, name, body) {
    file = out "/" package ".c"
    printf "" >file
    for (i in kind)
        if (i ~ /^t/ && package_of(i) != package)
            print "extern const int " i "[4];" >file
        else if (i ~ /^f/)
            print "int " i "(int x);" >file
    for (i = 0; i < TABLES; i++) {
        name = "t" package "_" i
        print "const int " name "[4] = {" value(name) ", 2, 3, " i "};" >file
    }
    for (i = 0; i < FUNCTIONS; i++) {
        name = "f" package "_" i
        body = "x * " i + 2 " + " value(name) terms(name)
        if (kind[name] == "helped") {
            print "static __attribute__((noinline)) int s" package "_" i "(int x) { return " body "; }" >file
            body = "s" package "_" i "(x) + 1"
        } else if (kind[name] == "own") {
            print "static int v" package "_" i ";" >file
            body = "(v" package "_" i " += x) * 0 + " body
        } else if (kind[name] != "plain") {
            print "__attribute__((" kind[name] "))" >file
        }
        print "int " name "(int x) { return " body "; }" >file
    }
    close(file)
}

function write_main(file, package, i, name) {
    file = out "/main.c"
    print "#include <stdio.h>" >file
    for (package = 0; package < PACKAGES; package++)
        for (i = 0; i < FUNCTIONS; i++)
            print "int f" package "_" i "(int x);" >file
    print "int main(void)\n{" >file
    for (package = 0; package < PACKAGES; package++)
        for (i = 0; i < FUNCTIONS; i++) {
            name = "f" package "_" i
            print "    printf(\"" name "=%d\\n\", " name "(3));" >file
        }
    print "    return 0;\n}" >file
    close(file)
}

BEGIN {
    PACKAGES = 3
    FUNCTIONS = 6
    TABLES = 3
    srand(seed)
    for (package = 0; package < PACKAGES; package++) {
        for (i = 0; i < TABLES; i++) {
            kind["t" package "_" i] = "plain"
            number["t" package "_" i] = pick(100)
        }
        for (i = 0; i < FUNCTIONS; i++) {
            name = "f" package "_" i
            kind[name] = kind_of(pick(10))
            number[name] = pick(100)
            for (n = pick(4); n > 0; n--)
                refer(name, package, i)
        }
    }
    count = split(changed, names, " ")
    for (i = 1; i <= count; i++)
        is_changed[names[i]] = 1
    if (out != "") {
        for (package = 0; package < PACKAGES; package++)
            write_package(package)
        write_main()
        exit
    }
    for (i = 0; i < FUNCTIONS; i++) {
        name = "f" user "_" i
        if (is_stale(name, user))
            print kind[name] == "helped" ? "s" user "_" i : name
    }
}
