"""The shape of the package: direction of imports, tables, sizes, public names, tests beside the code.

Each rule is a function over source text that returns what is wrong, one sentence for each fault; it runs over the whole
package and is itself tested on snippets that break it. Nothing of the package is imported here.
"""

from __future__ import annotations

import ast
import io
import math
import re
import textwrap
import tokenize
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "unmask"

# What a rule leaves out, each with its reason. An entry that is no longer needed fails, so the lists stay short.
FREE_ARGUMENTS = {
    "api.py:audit": "the public contract names these eight",
    "data/own.py:dataset": "whatever a user knows of their own data can be said in one call",
}
FREE_KEYWORDS = {  # functions that may take **keywords
    "data/__init__.py:load": "options belong to the data set, which checks their names",
    "data/lei.py:beer_lei": "the fields of its Form, which checks them",
    "data/reviews.py:reviews": "the fields of its Settings, which checks their names",
}
FREE_BASES = {  # classes that may inherit from something else
    "masking/highest.py:_Highest": "a gradient of one's own is written so in torch",
}
FREE_OF_TESTS: dict[str, str] = {}  # files without a test file of the same name


parsed = cache(ast.parse)


@cache
def nodes(source: str) -> tuple[ast.AST, ...]:
    """Every node of a source text."""
    return tuple(ast.walk(parsed(source)))


@cache
def sources() -> dict[str, str]:
    """Path below the package -> source text, of every file."""
    return {str(path.relative_to(PACKAGE)): path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def written_tests() -> dict[str, str]:
    """Path below tests/ -> source text, of every test file but this one."""
    files = sorted(TESTS.rglob("test_*.py"))
    return {str(path.relative_to(TESTS)): path.read_text("utf-8") for path in files if path != Path(__file__)}


def snippet(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


def report(faults: list[str]) -> None:
    if faults:
        pytest.fail("\n".join([f"{len(faults)} fault(s):", *faults]), pytrace=False)


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function with its dotted name, nested ones too."""

    def walk(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        for child in ast.iter_child_nodes(node):
            inside = prefix
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inside = f"{prefix}{child.name}."
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{prefix}{child.name}", child
            yield from walk(child, inside)

    return walk(tree, "")


@cache
def functions_of(source: str) -> tuple[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef], ...]:
    return tuple(functions(parsed(source)))


def classes(tree: ast.Module) -> list[ast.ClassDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def last_name(node: ast.expr) -> str:
    """`Module` of `torch.nn.Module`, `Protocol` of `Protocol[T]`, `dataclass` of `@dataclass(frozen=True)`."""
    while isinstance(node, ast.Subscript | ast.Call):
        node = node.value if isinstance(node, ast.Subscript) else node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


# --- imports point one way -------------------------------------------------------------------------------------------

BASE = {
    "batches",
    "change",
    "devices",
    "drawing",
    "entries",
    "errors",
    "heap",
    "heat",
    "labels",
    "layout",
    "pixels",
    "progress",
    "seeds",
    "types",
    "writing",
}
BELOW_TRAINING = BASE | {"masking", "nets", "data", "models"}
BELOW_METHODS = BELOW_TRAINING | {"distances", "training", "judge", "task", "saving", "weighting"}
METHOD_ROOMS = {"explainers", "attention", "rationales"}
ABOVE_METHODS = {"methods", "given", "loading", "importance", "foreign", "audit", "report", "stored", "study", "config"}
BELOW_API = BELOW_METHODS | METHOD_ROOMS | ABOVE_METHODS
ALL = BELOW_API | {"api", "auto", "cli", "reproduce", "sweep", "unmask"}

MAY_IMPORT: dict[str, set[str]] = {
    **dict.fromkeys(BASE, BASE),
    "masking": BASE,
    "nets": BASE | {"masking"},
    "data": BASE | {"masking", "nets"},
    "models": BASE | {"masking", "nets"},
    "distances": BASE | {"masking"},
    "training": BELOW_TRAINING,
    "task": BELOW_TRAINING | {"training"},
    "saving": BELOW_TRAINING | {"task"},
    "weighting": BELOW_TRAINING | {"training"},
    "judge": BELOW_TRAINING | {"training"},
    "explainers": BELOW_METHODS,
    "attention": BELOW_METHODS,
    "rationales": BELOW_METHODS,
    "methods": BASE | METHOD_ROOMS,
    "loading": BELOW_METHODS | {"methods"},
    "given": BELOW_METHODS | {"methods", "audit"},
    "importance": BELOW_METHODS | {"methods"},
    "foreign": BELOW_TRAINING,
    "audit": BELOW_METHODS,
    "report": {"change", "errors", "types", "drawing", "heat", "labels", "writing"},
    "study": BASE | {"data", "audit"},
    "stored": BASE | {"audit"},
    "config": BELOW_METHODS,
    "auto": BELOW_API,
    "api": BELOW_API | {"auto"},
    "unmask": BELOW_API | {"api"},
    **dict.fromkeys(("cli", "reproduce", "sweep", "__main__"), ALL),
}

TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
DOTTED = re.compile(r"unmask(\.\w+)+(:\w+)?")


def room(path: str) -> str:
    """The room a file lives in: the first folder below the package, or the file itself."""
    first = Path(path).parts[0].removesuffix(".py")
    return "unmask" if first == "__init__" else first


def imported_rooms(path: str, node: ast.AST) -> list[str]:
    """The rooms of this package that one node imports, at the top, in a function, for types only, or by a string."""
    if isinstance(node, ast.Import):
        return [_room_of(alias.name) for alias in node.names if alias.name.split(".")[0] == "unmask"]
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and DOTTED.fullmatch(node.value):
        return [_room_of(node.value.partition(":")[0])]
    if not isinstance(node, ast.ImportFrom):
        return []
    module = node.module or ""
    if node.level:
        package = ["unmask", *Path(path).parent.parts]
        module = ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])
    if module.split(".")[0] != "unmask":
        return []
    if module != "unmask":
        return [_room_of(module)]
    return [alias.name if alias.name in MAY_IMPORT else "unmask" for alias in node.names]


def _room_of(module: str) -> str:
    return [*module.split("."), "unmask"][1]


def wrong_imports(path: str, source: str) -> list[str]:
    here = room(path)
    if here not in MAY_IMPORT:
        return [f"{path}: '{here}' has no place in the order of imports; give it a line in MAY_IMPORT"]
    allowed = MAY_IMPORT[here] | {here}
    found = [
        (node.lineno, target)
        for node in nodes(source)
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Constant)
        for target in imported_rooms(path, node)
    ]
    return [
        f"{path}:{line}: {here} must not import {target}" for line, target in sorted(found) if target not in allowed
    ]


# --- tables: plain literals, every entry real and tested --------------------------------------------------------------

TABLES = {
    "METHODS": "explainers",
    "MODELS": "rationales",
    "CHECKS": "audit",
    "FURTHER": "audit",
    "INSIDE": "audit",
    "DATASETS": "data",
    "REMOVALS": "masking",
}
ELSEWHERE = {"INSIDE": "audit/inside.py", "FURTHER": "audit/further.py"}  # tables that are parts of another
NAMES_NO_OBJECT = {"REMOVALS"}  # a removal is a name: its entry says what it does, not where it lives


def table(name: str, source: str) -> dict[str, str | None] | None:
    """The entries of a table and the "module:object" each one names; None where there is no such dict literal."""
    for node in parsed(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if isinstance(value, ast.Dict) and any(isinstance(t, ast.Name) and t.id == name for t in targets):
            return {
                key.value: next(filter(TARGET.fullmatch, strings(entry)), None)
                for key, entry in zip(value.keys, value.values, strict=True)
                if isinstance(key, ast.Constant) and isinstance(key.value, str)
            }
    return None


def strings(node: ast.AST) -> list[str]:
    return [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def module_path(target: str, folder: str) -> str:
    """The file of "module:object", the module named from the package's root or from the table's own folder."""
    module = target.partition(":")[0].removeprefix("unmask.")
    from_root = "." in module and module.split(".")[0] in MAY_IMPORT
    return (module if from_root else f"{folder}.{module}").replace(".", "/") + ".py"


def top_names(source: str) -> set[str]:
    """Names that a file defines at its top level."""
    names = set()
    for node in parsed(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names |= {t.id for t in targets if isinstance(t, ast.Name)}
    return names


def dangling_entries(name: str, files: Mapping[str, str]) -> list[str]:
    """Faults of a table itself: missing, not a literal, or an entry that names nothing."""
    folder = TABLES[name]
    home = ELSEWHERE.get(name, f"{folder}/__init__.py")
    entries = table(name, files.get(home, ""))
    if not entries:
        return [f"{home}: {name} must be a dict literal with at least one entry"]
    faults = []
    for key, target in entries.items():
        if name in NAMES_NO_OBJECT:
            continue
        if target is None:
            faults.append(f"{name}[{key!r}] names no 'module:object'")
        elif target.partition(":")[2] not in top_names(files.get(path := module_path(target, folder), "")):
            faults.append(f"{name}[{key!r}] names {target}, which {path} does not define")
    return faults


def untested_entries(name: str, files: Mapping[str, str], test_files: Mapping[str, str]) -> list[str]:
    """Entries neither named as a string in a test of their folder, nor met by a contract test over the whole table.

    A contract test only counts for an entry whose own file has its test file as well.
    """
    folder = TABLES[name]
    quoted = {text for path, source in test_files.items() if room(path) == folder for text in strings(parsed(source))}
    contract = any(parametrised_over(name, source) for source in test_files.values())
    faults = []
    home = ELSEWHERE.get(name, f"{folder}/__init__.py")
    for key, target in (table(name, files.get(home, "")) or {}).items():
        beside = target is not None and path_of_test(module_path(target, folder)) in test_files
        if key not in quoted and not (contract and beside):
            faults.append(f"{name}[{key!r}] has no test: name it in a test below tests/{folder}/")
    return faults


def parametrised_over(name: str, source: str) -> bool:
    """Whether a `parametrize` in this source runs over the table called `name`."""
    calls = [node for node in nodes(source) if isinstance(node, ast.Call)]
    used = [
        getattr(inside, "id", None) or getattr(inside, "attr", None)
        for call in calls
        if last_name(call.func) == "parametrize"
        for argument in call.args
        for inside in ast.walk(argument)
    ]
    return name in used


def unlisted_methods(files: Mapping[str, str]) -> list[str]:
    """Public classes of explainers/ with `fit` and `explain` that METHODS does not list."""
    listed = {
        t.partition(":")[2] for t in (table("METHODS", files.get("explainers/__init__.py", "")) or {}).values() if t
    }
    return [
        f"{path}: {node.name} is missing from METHODS"
        for path, source in files.items()
        if room(path) == "explainers"
        for node in classes(parsed(source))
        if is_method(node) and not node.name.startswith("_") and node.name not in listed
    ]


def is_method(node: ast.ClassDef) -> bool:
    """A class with `fit` and `explain`, the protocol itself left out."""
    defined = {child.name for child in node.body if isinstance(child, ast.FunctionDef)}
    return {"fit", "explain"} <= defined and "Protocol" not in map(last_name, node.bases)


# --- sizes -----------------------------------------------------------------------------------------------------------

LONGEST_METHOD_FILE = 150
LONGEST_FILE = 300
LONGEST_FUNCTION = 40
LONG_TENTH = 20  # nine functions of ten are at most this long
DEEPEST = 3
MOST_ARGUMENTS = 7
NOT_A_SETTING = {"removal", "cure", "feedback", "recipe", "device"}  # shared by all methods, so not a method's own
BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match)
BLANK = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(source: str) -> set[int]:
    """Numbers of the lines that hold code: no comment, no docstring, not blank."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in BLANK:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in nodes(source):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


@cache
def function_lengths(path: str, source: str) -> list[tuple[str, int]]:
    """Every function with its number of lines that hold code."""
    lines = code_lines(source)
    return [
        (f"{path}:{name}", sum(node.lineno <= line <= (node.end_lineno or 0) for line in lines))
        for name, node in functions_of(source)
    ]


def long_files(path: str, source: str) -> list[str]:
    limit = LONGEST_METHOD_FILE if room(path) in METHOD_ROOMS else LONGEST_FILE
    length = len(source.splitlines())
    return [f"{path}: {length} lines, at most {limit}"] if length > limit else []


def long_functions(path: str, source: str) -> list[str]:
    lengths = function_lengths(path, source)
    return [f"{name}: {n} lines of code, at most {LONGEST_FUNCTION}" for name, n in lengths if n > LONGEST_FUNCTION]


def long_tenth(files: Mapping[str, str]) -> list[str]:
    """The 90th percentile over the whole package."""
    lengths = sorted(n for path, source in files.items() for _, n in function_lengths(path, source))
    tenth = lengths[math.ceil(0.9 * len(lengths)) - 1] if lengths else 0
    return (
        [f"one function in ten has {tenth} lines of code or more, at most {LONG_TENTH}"] if tenth > LONG_TENTH else []
    )


def depth(node: ast.AST) -> int:
    """How deep blocks are nested below a node; `elif` lies no deeper than its `if`."""
    deepest = 0
    for name, value in ast.iter_fields(node):
        children = [child for child in (value if isinstance(value, list) else [value]) if isinstance(child, ast.AST)]
        is_elif = isinstance(node, ast.If) and name == "orelse" and [type(c) for c in children] == [ast.If]
        deepest = max([deepest, *(depth(c) + (isinstance(c, BLOCKS) and not is_elif) for c in children)])
    return deepest


def deep_functions(path: str, source: str) -> list[str]:
    found = {f"{path}:{name}": depth(node) for name, node in functions_of(source)}
    return [f"{name}: blocks {deep} deep, at most {DEEPEST}" for name, deep in found.items() if deep > DEEPEST]


def is_command(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A command of the command line: its arguments are the command's options."""
    return any(last_name(decorator) in ("command", "callback") for decorator in node.decorator_list)


def many_arguments(path: str, source: str) -> list[str]:
    faults = []
    for name, node in functions_of(source):
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        count = len([a for i, a in enumerate(given) if not (i == 0 and a.arg in ("self", "cls"))])
        if count > MOST_ARGUMENTS and not (room(path) == "cli" and is_command(node)):
            faults.append(f"{path}:{name}: {count} arguments, at most {MOST_ARGUMENTS}")
    return faults


def many_settings(path: str, source: str) -> list[str]:
    """Methods with too many fields of their own; what is learned ends in an underscore and is no setting."""
    faults = []
    for node in classes(parsed(source)) if room(path) in METHOD_ROOMS else []:
        fields = [f for f in node.body if isinstance(f, ast.AnnAssign) and last_name(f.annotation) != "ClassVar"]
        names = {f.target.id for f in fields if isinstance(f.target, ast.Name) and not f.target.id.endswith("_")}
        own = {name for name in names - NOT_A_SETTING if not name.startswith("_")}
        if is_method(node) and len(own) > MOST_ARGUMENTS:
            faults.append(f"{path}:{node.name}: {len(own)} settings of its own, at most {MOST_ARGUMENTS}")
    return faults


# --- plain classes and plain arguments -------------------------------------------------------------------------------

PLAIN_BASES = {"Protocol", "Generic", "Module", "NamedTuple", "TypedDict", "Enum", "IntEnum", "StrEnum"}


def inheritance(path: str, source: str) -> list[str]:
    """Classes that inherit from anything but a protocol, a torch module, an exception, an enumeration or a tuple."""
    return [
        f"{path}:{node.name}: inherits from {base}; write a function or a protocol"
        for node in classes(parsed(source))
        for base in map(last_name, node.bases)
        if base not in PLAIN_BASES and not base.endswith(("Error", "Exception", "Warning"))
    ]


def open_keywords(path: str, source: str) -> list[str]:
    return [
        f"{path}:{name}: takes **{node.args.kwarg.arg}; name its arguments"
        for name, node in functions_of(source)
        if node.args.kwarg
    ]


# --- public names and tests beside the code --------------------------------------------------------------------------


def export_order(name: str) -> tuple[int, list[tuple[int, int, str]]]:
    """CONSTANTS, then Classes, then the rest, numbers by value: the order the linter asks for too."""
    kind = 0 if len(name) > 1 and name.isupper() else 1 if name[0].isupper() else 2
    parts = [part for part in re.split(r"(\d+)", name) if part]
    return kind, [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]


def public_names(path: str, source: str) -> list[str]:
    """Faults of `__all__`: missing where something is public, not a plain list, or unsorted."""
    listed: ast.expr | None = None
    public = {name for name in top_names(source) if not name.startswith("_")}
    for node in parsed(source).body:
        if isinstance(node, ast.Assign) and [last_name(t) for t in node.targets] == ["__all__"]:
            listed = node.value
        own = isinstance(node, ast.ImportFrom) and (node.level or f"{node.module}.".startswith("unmask."))
        if isinstance(node, ast.ImportFrom) and own and path.endswith("__init__.py"):
            public |= {alias.asname or alias.name for alias in node.names}
    if listed is None:
        return [f"{path}: has public names but no __all__"] if public else []
    if not isinstance(listed, ast.List | ast.Tuple) or not all(isinstance(e, ast.Constant) for e in listed.elts):
        return [f"{path}: __all__ must be a plain list of strings"]
    names = strings(listed)
    return [f"{path}: __all__ is not sorted"] if names != sorted(names, key=export_order) else []


def path_of_test(path: str) -> str:
    return str(Path(path).with_name(f"test_{Path(path).name}"))


def missing_tests(files: Mapping[str, str], test_files: Mapping[str, str]) -> list[str]:
    """Files without a test file of the same name; a function in an `__init__` must be used by some test."""
    used = {
        getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "name", None)
        for source in test_files.values()
        for node in nodes(source)
    }
    faults = []
    for path, source in files.items():
        if Path(path).name == "__init__.py":
            defined = [name for name, _ in functions_of(source) if "." not in name and name[0] != "_"]
            faults += [f"{path}:{name}: is used by no test" for name in defined if name not in used]
        elif Path(path).name != "__main__.py" and path_of_test(path) not in test_files:
            faults.append(f"{path}: has no tests/{path_of_test(path)}")
    return faults


# --- the package ------------------------------------------------------------------------------------------------------

Rule = Callable[[str, str], list[str]]
RULES: list[tuple[Rule, dict[str, str]]] = [
    (wrong_imports, {}),
    (long_files, {}),
    (long_functions, {}),
    (deep_functions, {}),
    (many_arguments, FREE_ARGUMENTS),
    (many_settings, {}),
    (inheritance, FREE_BASES),
    (open_keywords, FREE_KEYWORDS),
    (public_names, {}),
]


def excused(fault: str, free: Mapping[str, str]) -> bool:
    """Whether a fault ("file.py:name: ..." or "file.py: ...") is on the list of exceptions."""
    return fault.split(": ")[0] in free


@pytest.mark.parametrize(("rule", "free"), RULES, ids=[rule.__name__ for rule, _ in RULES])
def test_every_file_keeps(rule: Rule, free: dict[str, str]) -> None:
    report([f for path, source in sources().items() for f in rule(path, source) if not excused(f, free)])


def test_nine_functions_of_ten_are_short() -> None:
    report(long_tenth(sources()))


@pytest.mark.parametrize("name", TABLES)
def test_every_table_entry_names_something_that_exists(name: str) -> None:
    report(dangling_entries(name, sources()))


@pytest.mark.parametrize("name", TABLES)
def test_every_table_entry_is_tested(name: str) -> None:
    report(untested_entries(name, sources(), written_tests()))


def test_every_method_is_listed() -> None:
    report(unlisted_methods(sources()))


def test_every_file_has_its_tests() -> None:
    report([fault for fault in missing_tests(sources(), written_tests()) if not excused(fault, FREE_OF_TESTS)])


def test_every_exception_is_still_needed() -> None:
    files = sources()
    faults = {f.split(": ")[0] for rule, free in RULES if free for path in files for f in rule(path, files[path])}
    faults |= {f.split(": ")[0] for f in missing_tests(files, written_tests())}
    named = {*FREE_ARGUMENTS, *FREE_KEYWORDS, *FREE_BASES, *FREE_OF_TESTS}
    report([f"{name}: no longer needs its exception" for name in sorted(named - faults)])


# --- the rules themselves: each one fails on a snippet that breaks it -------------------------------------------------


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("masking/draws.py", "from unmask.nets.tables import MLP"),
        ("masking/draws.py", "from ..nets import tables"),
        ("masking/draws.py", "import unmask.api"),
        ("nets/words.py", "from unmask import judge"),
        ("data/text.py", "def f():\n    from unmask.models import wrap"),
        ("judge.py", "if TYPE_CHECKING:\n    from unmask.explainers.l2x import L2X"),
        ("audit/suite.py", "from unmask.explainers import METHODS"),
        ("audit/suite.py", "L2X = 'unmask.explainers.l2x:L2X'"),
        ("audit/suite.py", "from unmask import fit"),
        ("explainers/l2x.py", "from unmask.audit import suite"),
        ("explainers/l2x.py", "from unmask.rationales import rnp"),
        ("report/html.py", "from unmask.audit.suite import run"),
        ("report/html.py", "from unmask.seeds import generator"),
        ("api.py", "from unmask.cli import main"),
        ("utils.py", "import math"),
    ],
)
def test_imports_against_the_stream_are_found(path: str, line: str) -> None:
    assert wrong_imports(path, line)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("masking/draws.py", "from unmask.seeds import generator"),
        ("masking/draws.py", "from . import subsets\nfrom .relax import draw"),
        ("audit/suite.py", "from unmask.judge import Judge\nimport torch"),
        ("explainers/l2x.py", "from ..training import minimize"),
        ("cli/demo.py", "from unmask import api"),
        ("types.py", "from unmask import drawing"),
    ],
)
def test_imports_with_the_stream_pass(path: str, line: str) -> None:
    assert wrong_imports(path, line) == []


LISTED = {
    "explainers/__init__.py": 'METHODS: dict[str, Entry] = {"l2x": Entry("unmask.explainers.l2x:L2X", "a line")}',
    "explainers/l2x.py": "class L2X:\n    def fit(self): ...\n    def explain(self): ...",
}
CONTRACT = '@pytest.mark.parametrize("name", sorted(explainers.METHODS))\ndef test_contract(name): ...'


def test_tables_are_read() -> None:
    assert table("METHODS", LISTED["explainers/__init__.py"]) == {"l2x": "unmask.explainers.l2x:L2X"}
    assert dangling_entries("METHODS", LISTED) == []
    assert module_path("unmask.explainers.l2x:L2X", "explainers") == module_path("l2x:L2X", "explainers")


def test_bad_tables_are_found() -> None:
    init = "explainers/__init__.py"
    assert dangling_entries("METHODS", {})
    assert dangling_entries("METHODS", {init: "METHODS = dict(l2x=L2X)"})
    assert dangling_entries("METHODS", {**LISTED, init: 'METHODS = {"l2x": L2X}'})
    assert dangling_entries("METHODS", {**LISTED, "explainers/l2x.py": "class Other: ..."})


def test_untested_entries_are_found() -> None:
    assert untested_entries("METHODS", LISTED, {})
    assert untested_entries("METHODS", LISTED, {"audit/test_suite.py": 'run("l2x")'})
    assert untested_entries("METHODS", LISTED, {"test_contract.py": CONTRACT})
    assert untested_entries("METHODS", LISTED, {"explainers/test_l2x.py": "from unmask.explainers.l2x import L2X"})


def test_tested_entries_pass() -> None:
    assert untested_entries("METHODS", LISTED, {"explainers/test_l2x.py": 'make("l2x")'}) == []
    assert untested_entries("METHODS", LISTED, {"test_contract.py": CONTRACT, "explainers/test_l2x.py": ""}) == []


def test_an_unlisted_method_is_found() -> None:
    extra = LISTED["explainers/l2x.py"].replace("L2X", "New")
    assert unlisted_methods(LISTED) == []
    assert unlisted_methods({**LISTED, "explainers/new.py": extra})


def test_lines_of_code_leave_out_words() -> None:
    source = snippet('''
        def f(x):
            """Says

            something."""
            # and again

            text = """two
            lines"""
            return (x,
                    text)  # four and the signature
    ''')
    assert function_lengths("a.py", source) == [("a.py:f", 5)]


def test_long_files_and_functions_are_found() -> None:
    assert long_files("explainers/new.py", "x = 1\n" * 151)
    assert long_files("audit/suite.py", "x = 1\n" * 151) == []
    assert long_files("audit/suite.py", "x = 1\n" * 301)
    body = "def f():\n" + "    x = 1\n" * 39
    assert long_functions("a.py", body) == []
    assert long_functions("a.py", body + "    x = 1\n")
    assert long_functions("a.py", "class A:\n" + textwrap.indent(body + "    x = 1\n", "    "))


def test_a_long_tenth_is_found() -> None:
    short, long = "def f(): ...\n", "def f():\n" + "    x = 1\n" * 20
    assert long_tenth({"a.py": short * 9 + long}) == []
    assert long_tenth({"a.py": short * 8 + long * 2})


def test_deep_blocks_are_found() -> None:
    three = "def f():\n for a in b:\n  if a:\n   pass\n  elif b:\n   with c:\n    "
    assert deep_functions("a.py", three + "pass") == []
    assert deep_functions("a.py", three + "while d:\n     pass")
    assert deep_functions("a.py", three + "try:\n     pass\n    finally:\n     pass")


def test_many_arguments_are_found() -> None:
    assert many_arguments("a.py", "class A:\n def f(self, a, b, c, d, e, f, g): ...") == []
    assert many_arguments("a.py", "class A:\n def f(self, a, b, c, d, e, f, *, g, h): ...")
    assert many_arguments("a.py", "def f(a, b, c, d, e, /, f, g, h): ...")
    assert many_arguments("api.py", "@app.command()\ndef f(a, b, c, d, e, f, g, h): ...")
    assert many_arguments("cli/a.py", "@app.command()\ndef f(a, b, c, d, e, f, g, h): ...") == []


def test_many_settings_are_found() -> None:
    def method(*names: str) -> str:
        fields = "".join(f"    {name}: int = 1\n" for name in names)
        return f"@dataclass\nclass A:\n{fields}    def fit(self): ...\n    def explain(self): ..."

    shared = sorted(NOT_A_SETTING)
    assert many_settings("explainers/a.py", method("k", "b", "c", "d", "e", "f", "g", "net_", *shared)) == []
    assert many_settings("explainers/a.py", method("k", "b", "c", "d", "e", "f", "g", "h"))
    assert many_settings("audit/a.py", method("k", "b", "c", "d", "e", "f", "g", "h")) == []


def test_inheritance_and_open_keywords_are_found() -> None:
    plain = "class A(nn.Module): ...\nclass B(Protocol[T]): ...\nclass C(UnmaskError): ...\nclass D(StrEnum): ..."
    assert inheritance("a.py", plain) == []
    assert inheritance("a.py", "class A(BaseExplainer): ...")
    assert inheritance("a.py", "def f():\n    class A(torch.nn.Linear): ...")
    assert open_keywords("a.py", "def f(*a, b=1): ...") == []
    assert open_keywords("a.py", "class A:\n    def f(self, **options): ...")


def test_bad_export_lists_are_found() -> None:
    assert public_names("a.py", "_hidden = 1") == []
    assert public_names("a.py", '__all__ = ["METHODS", "Dataset", "fit", "load"]\ndef fit(): ...') == []
    assert public_names("a.py", "def fit(): ...")
    assert public_names("a.py", "LIMIT: int = 1")
    assert public_names("a.py", '__all__ = ["load", "fit"]')
    assert public_names("a.py", '__all__ = [*names, "fit"]')
    assert public_names("a/__init__.py", "from unmask.a.b import c")
    assert public_names("a/__init__.py", "from .b import c")
    assert public_names("a/__init__.py", "from math import sqrt") == []
    assert public_names("a/b.py", "from unmask.a.c import d") == []


def test_missing_tests_are_found() -> None:
    files = {"audit/enough.py": "", "audit/__init__.py": "def run(): ..."}
    assert len(missing_tests(files, {})) == 2
    assert len(missing_tests(files, {"test_enough.py": "run()"})) == 1
    assert missing_tests(files, {"audit/test_enough.py": "audit.run()"}) == []


def test_only_listed_faults_are_excused() -> None:
    assert excused("api.py:audit: 8 arguments, at most 7", FREE_ARGUMENTS)
    assert not excused("api.py:fit: 8 arguments, at most 7", FREE_ARGUMENTS)
