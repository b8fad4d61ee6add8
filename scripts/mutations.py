"""Small changes of C++ source, each of which a good test should notice: scripts/mutants makes them one at a time.

The source is read as text, laid out by clang-format: a binary operator stands between spaces, a template's bracket and
a pointer's star do not.
"""

import re
from typing import NamedTuple


class Mutation(NamedTuple):
    """Put `new` in place of text[begin:end]."""

    begin: int
    end: int
    new: str


# What stands between spaces, and what it becomes.
OPERATORS = {
    "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",),
    "&&": ("||",), "||": ("&&",), "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "%": ("*",),
    "+=": ("-=",), "-=": ("+=",), "*=": ("/=",),
}
OPERATOR = re.compile(r"(?<= )(?:[<>=!]=|[-+*]=|&&|\|\||[-<>+*/%])(?=[ \n])")
NUMBER = re.compile(r"(?<![\w.'])(\d[\d']*)(\.\d+)?([uUlL]*)(?![\w.'])")
WORD = re.compile(r"\b(?:true|false|std::min|std::max)\b")
OTHER_WORD = {"true": "false", "false": "true", "std::min": "std::max", "std::max": "std::min"}
NEGATION = re.compile(r"(?<=[ (])!(?=[\w(])")
CONDITION = re.compile(r"\b(?:if|while) \(")
# A call or an assignment on a line of its own. Declarations are two words.
STATEMENT = re.compile(r"^ +(?!return|break|continue|case|default|using|delete|goto|co_)[\w.:>\[\]()*-]+?"
                       r"(?:\([^\n]*\)| [-+*|&]?= [^\n{]+|\+\+|--);$", re.M)
ARGUMENTS = re.compile(r"(?<=\w)\(([\w.]+), ([\w.]+)\)")
SYMMETRIC = re.compile(r"\b(?:std::(?:min|max|swap)|saturating_sum)$")
# Source that no test can judge by a value.
SKIPPED_LINE = re.compile(r"^\s*(?:static_assert|assert\(|using|namespace|template|case )|\bif constexpr\b|\boperator\b")
QUOTED = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*(?:.|\n)*?\*/'
                    r"|^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.M)


def code_alone(text):
    """`text` with spaces in place of comments, literals of text, and preprocessor lines."""
    return QUOTED.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def closing(text, opening):
    """Where the parenthesis closes that opens at `opening`."""
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at
    return len(text)


def other_number(found):
    whole, fraction, suffix = found[1].replace("'", ""), found[2], found[3]
    if fraction:
        return f"{float(whole + fraction) * 2 or 1.0}"
    return f"{ {'0': '1', '1': '0'}.get(whole, str(int(whole) + 1)) }{suffix}"


def negated(code, found):
    """The condition behind `if (` or `while (` turned round, unless it declares something."""
    begin, end = found.end(), closing(code, found.end() - 1)
    begin += code[begin:end].rfind(";") + 1
    if " = " in code[begin:end] or not code[begin:end].strip():
        return None
    return begin, end


def is_whole(code, statement):
    """Whether no line before belongs to the statement, too."""
    before = code[: statement.start()].rstrip()
    return before[-1:] in ";{}:" and statement[0].count("(") == statement[0].count(")")


def mutations(text):
    """All mutations of a source file, in the order of their places."""
    code = code_alone(text)
    found = [Mutation(at.start(), at.end(), new) for at in OPERATOR.finditer(code) for new in OPERATORS[at[0]]]
    found += [Mutation(at.start(), at.end(), other_number(at)) for at in NUMBER.finditer(code)]
    found += [Mutation(at.start(), at.end(), OTHER_WORD[at[0]]) for at in WORD.finditer(code)]
    found += [Mutation(at.start(), at.end(), "") for at in NEGATION.finditer(code)]
    for at in CONDITION.finditer(code):
        if where := negated(code, at):
            found.append(Mutation(*where, f"!({text[slice(*where)].strip()})"))
    found += [Mutation(at.start(), at.end(), "") for at in STATEMENT.finditer(code) if is_whole(code, at)]
    found += [Mutation(at.start(1), at.end(2), f"{at[2]}, {at[1]}") for at in ARGUMENTS.finditer(code)
              if at[1] != at[2] and not SYMMETRIC.search(code, 0, at.start())]
    return sorted(each for each in found if not SKIPPED_LINE.search(line_at(text, each.begin)))


def line_at(text, offset):
    begin = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    return text[begin : end if end >= 0 else len(text)]


def line_number(text, offset):
    return text.count("\n", 0, offset) + 1


def mutated(text, mutation):
    return text[: mutation.begin] + mutation.new + text[mutation.end :]


def described(text, mutation):
    """The first line that changes, before and after, without its indentation."""
    begin = mutation.begin
    while text[begin] in " \n":  # a statement begins with its indentation
        begin += 1
    before = line_at(text, begin)
    start = text.rfind("\n", 0, begin) + 1
    inside = before[: max(mutation.begin - start, 0)], before[max(mutation.end - start, 0) :]
    after = inside[0] + mutation.new + inside[1]
    return before.strip(), after.strip() or "(removed)"
