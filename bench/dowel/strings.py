# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
def occurrences(line, letter):
    return line.count(letter)


def main():
    counts, total, line = {}, 0, ""
    for i in range(1000000):
        word = "w" + str(i * 7919 % 10007)
        counts[word] = counts.get(word, 0) + 1
        line = line + word + " "
        if i % 20 == 19:
            total += occurrences(line, "7") + len(line[3:9])
            line = ""
    print(len(counts), counts["w77"], total)


main()
