"""The command line of scripts/gpu-check."""

import argparse
import os
import pathlib
import shutil
import sys

from gpu_check import bundle, parts

EXAMPLES = """\
examples:
  ./scripts/gpu-check --bundle gpu-bundle
      here: the release build, the libraries it needs and the test programs
  gpu-bundle/gpu-check --run gpu-bundle --out results
      there: the parts in the order of their worth, for 10 minutes; run again, it goes on
  gpu-bundle/gpu-check --run gpu-bundle --out results --part counts,clock
  gpu-bundle/gpu-check --dry-run gpu-bundle
      without a GPU: runs each program up to its first CUDA call, and the trainings on the CPU
exit status: 0 all right, 1 something is wrong, 2 usage, 3 no GPU here"""


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        prog="gpu-check",
        description="Checks a build of Redline on a machine with an NVIDIA GPU.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--bundle", metavar="DIR", help="make the folder to carry there")
    what.add_argument("--run", metavar="DIR", help="run the checks of such a folder")
    what.add_argument("--dry-run", metavar="DIR", help="all of it that needs no GPU")
    what.add_argument("--list", action="store_true", help="the parts, and what each does")
    parser.add_argument("--out", metavar="OUT", help="folder of the results")
    parser.add_argument("--part", metavar="LIST", help="only these, e.g. counts,clock, run or not before")
    parser.add_argument("--seconds", metavar="N", type=float,
                        help="no part begins that may end later (600; for one part alone its own limit, 170)")
    parser.add_argument("--build", metavar="DIR", default=str(bundle.BUILD),
                        help="what --bundle takes (build/release)")
    parser.add_argument("--python", metavar="FILE", default=sys.executable,
                        help="a Python with torch (the one that runs this)")
    options = parser.parse_args(arguments)
    if options.run and not options.out:
        parser.error("--run needs --out OUT")
    # The link must not be resolved, because a virtual environment's Python is a link.
    options.python = os.path.abspath(shutil.which(options.python) or options.python)
    options.part = options.part.split(",") if options.part else []
    if unknown := set(options.part) - set(parts.PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(parts.PARTS)}")
    return options


def main(arguments=None):
    options = parse_arguments(arguments)
    if options.list:
        for name, part in parts.PARTS.items():
            print(f"{name:10}{part.seconds:4} s  {part.about}")
        return 0
    try:
        if options.bundle:
            return bundle.make(pathlib.Path(options.bundle), pathlib.Path(options.build))
        folder = pathlib.Path(options.run or options.dry_run).resolve()
        bundle.require(folder)
        if options.dry_run:
            return parts.dry_run(folder, options.python)
        return parts.run(folder, pathlib.Path(options.out).resolve(), options.python, options.part,
                         options.seconds)
    except bundle.Unusable as error:
        print(f"gpu-check: {error}", file=sys.stderr)
        return 1
