#!/usr/bin/env python3
"""Holds the modules to their floors: docs/architecture.md, the includes and CMake must agree.

usage: layers.py ROOT         check the tree; prints each fault, exit 1 when there is one
       layers.py --self-test  check that faults put into a small tree are found
"""

import re
import sys
import tempfile
from pathlib import Path

GENERATED = {"data_table.inc"}  # written by CMake into the build folder
SOURCES = {".h", ".hpp", ".cpp", ".inc"}


def floors_of(document):
    """{module: floor} from the table with the columns floor and module."""
    floors, faults = {}, []
    in_table = False
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells[:2] == ["floor", "module"]:
            in_table = True
        elif not line.startswith("|"):
            in_table = False
        elif in_table and not set(cells[0]) <= set("-: "):
            modules = re.findall(r"`([^`]+)`", cells[1]) if len(cells) > 1 else []
            if not cells[0].isdigit() or not modules:
                faults.append(f"{document}:{number}: a row needs a floor and modules in backticks")
                continue
            for module in modules:
                if module in floors:
                    faults.append(f"{document}:{number}: `{module}` has two floors")
                floors[module] = int(cells[0])
    if not floors:
        faults.append(f"{document}: no table with the columns | floor | module |")
    return floors, faults


def includes_of(path):
    """(line, form, path) of each #include outside comments and string literals."""
    text = path.read_text(encoding="utf-8")

    def blank(match):  # keeps the lines where they are
        return re.sub(r"[^\n]", " ", match.group(0))

    # A literal is blanked only when it is raw or a comment; plain ones cannot hold a line's start.
    text = re.sub(
        r'R"([^()\\ \n]*)\(.*?\)\1"|/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"',
        lambda match: match.group(0) if match.group(0)[0] == '"' else blank(match),
        text, flags=re.DOTALL)
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]*)[">]', text, re.MULTILINE):
        yield text.count("\n", 0, match.start()) + 1, match.group(1), match.group(2)


def edges_of(script):
    """The name and DEPENDS of the burnish_module() call in a CMakeLists.txt."""
    text = re.sub(r"#[^\n]*", "", script.read_text(encoding="utf-8"))
    call = re.search(r"burnish_module\s*\(([^)]*)\)", text)
    if not call:
        return None, []
    words = call.group(1).split()
    depends, keyword = [], None
    for word in words[1:]:
        if word in ("DEPENDS", "PACKAGES", "TEST_PACKAGES"):
            keyword = word
        elif keyword == "DEPENDS":
            depends.append(word)
    return words[0] if words else None, depends


def closure(module, edges):
    seen, todo = set(), [module]
    while todo:
        for lower in edges.get(todo.pop(), []):
            if lower not in seen:
                seen.add(lower)
                todo.append(lower)
    return seen


def check(root):
    """The faults of a tree, each with its place, and how many includes were looked at."""
    source = root / "src"
    floors, faults = floors_of(root / "docs" / "architecture.md")
    top = re.sub(r"#[^\n]*", "", (root / "CMakeLists.txt").read_text(encoding="utf-8"))
    added = re.findall(r"add_subdirectory\s*\(\s*src/(\w+)\s*\)", top)
    files = sorted(path for path in source.rglob("*") if path.is_file())
    folders = {path.relative_to(source).parts[0] for path in files if path.parent != source}

    for path in files:
        if path.parent == source and path.suffix in SOURCES:
            faults.append(f"{path}: a source file belongs to a module")
    for module in sorted(folders - floors.keys()):
        faults.append(f"{source / module}: this module has no floor in docs/architecture.md")
    for module in sorted(floors.keys() - folders):
        faults.append(f"docs/architecture.md: `{module}` has no files under src/")
    edges = {}
    for module in sorted(folders & floors.keys()):
        script = source / module / "CMakeLists.txt"
        if not script.exists():
            faults.append(f"{script}: missing")
            continue
        if module not in added:
            faults.append(f"{root / 'CMakeLists.txt'}: does not add src/{module}")
        name, edges[module] = edges_of(script)
        if name != module:
            faults.append(f"{script}: expected burnish_module({module} ...)")
        for lower in edges[module]:
            if lower not in floors:
                faults.append(f"{script}: DEPENDS {lower}, which is no module")
            elif floors[lower] >= floors[module]:
                faults.append(f"{script}: {module} (floor {floors[module]}) DEPENDS {lower} "
                              f"(floor {floors[lower]})")

    count = 0
    for path in files:
        module = path.relative_to(source).parts[0]
        if path.suffix not in SOURCES or module not in edges:
            continue
        allowed = closure(module, edges)
        for line, form, target in includes_of(path):
            first = target.split("/")[0]
            if form == "<" and first not in floors:
                continue  # a system header or a package's
            count += 1
            place = f'{path}:{line}: #include "{target}"'
            if form == "<":
                faults.append(f"{place}: our own headers are included with quotes")
            elif target in GENERATED:
                continue
            elif first not in floors or "/" not in target:
                faults.append(f"{place}: write it from src/, as module/file")
            elif not (source / target).is_file():
                faults.append(f"{place}: there is no such file")
            elif first != module and floors[first] >= floors[module]:
                faults.append(f"{place}: {module} (floor {floors[module]}) must not know {first} "
                              f"(floor {floors[first]})")
            elif first != module and first not in allowed:
                faults.append(f"{place}: {module} does not depend on {first} in its CMakeLists.txt")
    return faults, count


def self_test():
    """Each case: files put over a right tree, and what the one fault must say."""
    right = {
        "docs/architecture.md": "| floor | module | does |\n|---|---|---|\n| 2 | `top` | a |\n"
                                "| 1 | `left`, `right` | b |\n| 0 | `base` | c |\n",
        "CMakeLists.txt": "".join(f"add_subdirectory(src/{m})\n" for m in
                                  ("base", "left", "right", "top")),
        "src/base/CMakeLists.txt": "burnish_module(base PACKAGES fmt::fmt)\n",
        "src/base/a.h": "#include <vector>\n",
        "src/left/CMakeLists.txt": "burnish_module(left\n  DEPENDS base PACKAGES x)\n",
        "src/left/a.cpp": '#include "base/a.h"\n'
                          'auto s = R"(\n#include "helper.h"\n)";\n// #include "top/a.h"\n',
        "src/right/CMakeLists.txt": "burnish_module(right DEPENDS base)\n",
        "src/right/a.h": "",
        "src/top/CMakeLists.txt": "burnish_module(top DEPENDS left)\n",
        "src/top/a.h": '#include "base/a.h"\n',
    }
    cases = [
        ({}, None),
        ({"src/base/a.cpp": '#include "left/a.cpp"\n'}, "a.cpp:1:.*must not know left"),
        ({"src/left/b.cpp": '\n  #  include "right/a.h"\n'}, "b.cpp:2:.*must not know right"),
        ({"src/left/b_test.cpp": '#include "top/a.h"\n'}, "must not know top"),
        ({"src/top/b.cpp": '#include "right/a.h"\n'}, "does not depend on right"),
        ({"src/top/b.cpp": '#include "base/gone.h"\n'}, "no such file"),
        ({"src/top/b.cpp": '#include "a.h"\n'}, "write it from src/"),
        ({"src/top/b.cpp": '#include "../base/a.h"\n'}, "write it from src/"),
        ({"src/top/b.cpp": "#include <base/a.h>\n"}, "with quotes"),
        ({"src/left/CMakeLists.txt": "burnish_module(left DEPENDS base right)\n"},
         r"left \(floor 1\) DEPENDS right"),
        ({"src/left/CMakeLists.txt": "burnish_module(left DEPENDS base nobody)\n"},
         "nobody, which is no module"),
        ({"src/left/CMakeLists.txt": "burnish_module(wrong DEPENDS base)\n"},
         r"expected burnish_module\(left"),
        ({"src/other/a.h": ""}, "has no floor"),
        ({"src/stray.cpp": ""}, "belongs to a module"),
        ({"CMakeLists.txt": right["CMakeLists.txt"].replace("add_subdirectory(src/right)\n", "")},
         "does not add src/right"),
        ({"docs/architecture.md": right["docs/architecture.md"] + "| 1 | `base` | d |\n"},
         "two floors"),
        ({"docs/architecture.md": right["docs/architecture.md"] + "| 3 | `roof` | d |\n"},
         "`roof` has no files"),
        ({"docs/architecture.md": right["docs/architecture.md"] + "| x | `top` | d |\n"},
         "a row needs a floor"),
    ]
    failures = 0
    for change, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**right, **change}.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            faults, _ = check(Path(folder))
        found = not faults if expected is None else any(re.search(expected, f) for f in faults)
        if not found:
            failures += 1
            print(f"{change}: expected {expected or 'no fault'}, got {faults}")
    print(f"{len(cases)} trees, {failures} judged wrongly")
    return 1 if failures else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    faults, count = check(Path(arguments[0]))
    for fault in faults:
        print(fault)
    print(f"{count} includes of our own, {len(faults)} faults")
    return 1 if faults or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
