# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mutants.py DOWEL FOLDER COUNT: programs of the tests beside it, with words left out, doubled, exchanged.

Each has to run, or to end with a message that names the place; what the JIT says itself is a mistake of dowel's, as is
a crash. Prints the programs that do neither.
"""

import glob
import random
import re
import subprocess
import sys

WORD = re.compile(r'"[^"\n]*"|\d+\.\d+|\w+|==|!=|<=|>=|\.\.|[^\w\s]|\n')


def words_of(path):
    with open(path, encoding="utf-8") as stream:
        text = re.sub(r"^(#|=>).*\n", "", stream.read(), flags=re.M)
    return WORD.findall(text)


def mutate(words, others):
    """Changes one to four places."""
    words = list(words)
    for _ in range(random.randint(1, 4)):
        place = random.randrange(len(words))
        choice = random.randrange(4)
        if choice == 0 and len(words) > 1:
            del words[place]
        elif choice == 1:
            words.insert(place, random.choice(others))
        elif choice == 2:
            words[place] = random.choice(others)
        else:
            other = random.randrange(len(words))
            words[place], words[other] = words[other], words[place]
    return " ".join(words)


def fault(dowel, path):
    """What is wrong with the answer to a program, or None."""
    try:
        done = subprocess.run([dowel, path], capture_output=True, timeout=5, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None  # mutants may run for ever
    said = done.stderr.decode(errors="replace")
    if done.returncode not in (0, 1):
        return f"status {done.returncode}"
    if done.returncode == 1 and not re.search(re.escape(path) + r":\d+:", said) and "the stack is full" not in said:
        return f"no place: {said[-200:]}"
    return None


def main():
    dowel, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    random.seed(1)
    programs = [words_of(path) for path in sorted(glob.glob("tests/dowel/programs/*.dowel")) + ["tests/dowel/wrong.txt"]]
    others = sum(programs, [])
    for number in range(count):
        path = f"{folder}/mutant{number}.dowel"
        program = random.choice(programs)
        start = random.randrange(len(program))
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(mutate(program[start:] if number % 2 else program, others))
        why = fault(dowel, path)
        if why:
            print(f"mutant {number}: {why}")


main()
