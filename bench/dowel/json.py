# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
class Value:
    __slots__ = ("kind", "number", "text", "first", "next")

    def __init__(self, kind, number, text, first):
        self.kind, self.number, self.text, self.first, self.next = kind, number, text, first, None


class Reader:
    def __init__(self, text):
        self.text, self.at = text, 0

    def skip(self):
        while self.at < len(self.text) and self.text[self.at] <= " ":
            self.at += 1

    def string(self):
        start = self.at + 1
        self.at = start
        while self.text[self.at] != '"':
            self.at += 1
        self.at += 1
        return self.text[start:self.at - 1]

    def number(self):
        whole, scale = 0.0, 1.0
        while self.at < len(self.text) and "0" <= self.text[self.at] <= "9":
            whole = whole * 10.0 + (ord(self.text[self.at]) - 48)
            self.at += 1
        if self.at < len(self.text) and self.text[self.at] == ".":
            self.at += 1
            while "0" <= self.text[self.at] <= "9":
                scale /= 10.0
                whole += (ord(self.text[self.at]) - 48) * scale
                self.at += 1
        return whole

    def members(self, end):
        first = last = None
        self.at += 1
        self.skip()
        while self.text[self.at] != end:
            name = None
            if end == "}":
                name = self.string()
                self.skip()
                self.at += 1
            value = self.value()
            if name is not None:
                value = Value(5, 0.0, name, value)
            if last:
                last.next = value
            else:
                first = value
            last = value
            self.skip()
            if self.text[self.at] == ",":
                self.at += 1
            self.skip()
        self.at += 1
        return first

    def value(self):
        self.skip()
        letter = self.text[self.at]
        if letter == "{":
            return Value(3, 0.0, "", self.members("}"))
        if letter == "[":
            return Value(4, 0.0, "", self.members("]"))
        if letter == '"':
            return Value(2, 0.0, self.string(), None)
        if letter == "t":
            self.at += 4
            return Value(0, 1.0, "", None)
        return Value(1, self.number(), "", None)


def total(value):
    result, part = value.number, value.first
    while part:
        result += total(part)
        part = part.next
    return result + len(value.text)


def main():
    source = "[" + ", ".join(
        f'{{"id": {i}, "name": "n{i * 7}", "tags": [1, 2.5, 3], "ok": true}}' for i in range(2000)) + "]"
    print(int(sum(total(Reader(source).value()) for _ in range(20))))


main()
