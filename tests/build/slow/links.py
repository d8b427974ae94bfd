# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""links.py FOLDER: prints links of the pages in FOLDER that lead nowhere, and what the pages would load from elsewhere.

Links may lead out of FOLDER to files beside it."""

import os
import sys
import urllib.parse
from html.parser import HTMLParser


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], set()
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)
            elif value and name in ("href", "src"):
                (self.links if tag in ("a", "area") else self.loaded).append(value)


top = sys.argv[1]
pages = {}
for folder, _, names in os.walk(top):
    for name in names:
        if name.endswith(".html"):
            path = os.path.normpath(os.path.join(folder, name))
            pages[path] = Page(path)
count = 0
for path, page in sorted(pages.items()):
    for link in page.links + page.loaded:
        parts = urllib.parse.urlsplit(link)
        if parts.scheme or parts.netloc:
            if link in page.loaded:
                print(f"{path}: loads {link}")
            continue
        count += 1
        target = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path))) \
            if parts.path else path
        if not os.path.exists(target):
            print(f"{path}: there is no {link}")
        elif parts.fragment and target in pages and \
                urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
            print(f"{path}: there is no place {link}")
print(f"{len(pages)} pages, {count} links", file=sys.stderr)
