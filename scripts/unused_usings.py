"""Prints each using-declaration of the files given that nothing in its file uses; exit status 1 if any.

clang-tidy's misc-unused-using-decls only looks at the file that is compiled, not at the files that a unity build
includes in it."""

import re
import sys
from pathlib import Path

found = 0
for path in sys.argv[1:]:
    text = Path(path).read_text()
    for using in re.finditer(r"^[ \t]*using (?:::)?(?:\w+::)+(\w+);", text, re.MULTILINE):
        name = using.group(1)
        if len(re.findall(rf"\b{name}\b", text)) == len(
            re.findall(rf"using (?:::)?(?:\w+::)+{name};", text)
        ):
            line = text.count("\n", 0, using.start()) + 1
            print(f"{path}:{line}: {using.group(0).strip()} is not used", file=sys.stderr)
            found += 1
sys.exit(found > 0)
