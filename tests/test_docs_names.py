"""The names in the documentation exist: files, names that files define, modules and claims.

What the pages write in backticks, outside of code blocks, is checked where it has one of the forms

* ``path.py`` or ``folder/``, relative to ``src/advmdp`` or to the repository, ``*`` being any text;
* ``path.py: name, Class.member``, names that the file defines;
* ``advmdp.module.Name`` or ``benchmarks.module``, and ``am.name`` for the public API;
* claim ``name``, a claim of the catalogue.

The figures are checked for paths.  Except for the public API, names are read from the sources: no
module has to be imported, and those that need a GPU are checked as well.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

import advmdp

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PACKAGE = ROOT / "src" / "advmdp"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
FIGURES = [DOCS / "figures" / name for name in ("rooms.svg", "episode.svg")]

CODE_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`]+)`")
CLAIM = re.compile(r"[Cc]laims? (`[\w-]+`(?:(?:, | and |, and )`[\w-]+`)*)")
PATH = re.compile(r"(?P<path>[\w*./-]+\.(?:py|md|svg|json)|[\w./-]+/)(?:: (?P<names>.+))?")
DOTTED = re.compile(r"(?P<name>(?:am|advmdp|benchmarks|tests)(?:\.\w+)+)(?:\(.*\))?")
NAME = re.compile(r"(?P<name>[A-Za-z_]\w*(?:\.\w+)?)(?:\(\))?")
BARE = re.compile(r"(?P<name>[A-Za-z_]\w*)(?:\(.*\))?")
COMMAND = re.compile(r"advmdp \w+.*|python -m .*")

ELSEWHERE = {"damaged/", "store.json"}  # in the folder of a store


# ---------------------------------------------------------------------- what a page says


def spans_of(text: str) -> list[str]:
    """Everything in backticks, outside of code blocks."""
    return [" ".join(span.split()) for span in SPAN.findall(CODE_BLOCK.sub("", text))]


def claims_of(text: str) -> list[str]:
    """The names after the word claim."""
    return [name for listed in CLAIM.findall(text) for name in SPAN.findall(listed)]


def table_rows(text: str, *columns: str) -> Iterator[list[str]]:
    """The cells of these columns, from every table that has all of them."""
    wanted: list[int] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if set(columns) <= set(cells):
            wanted = [cells.index(column) for column in columns]
        elif not cells:
            wanted = []
        elif wanted and set("".join(cells)) != {"-"}:
            yield [cells[i] for i in wanted]


# ---------------------------------------------------------------------- what the sources say


def files_at(path: str) -> list[Path]:
    """The files or folders that a path stands for."""
    return [file for base in (PACKAGE, ROOT) for file in base.glob(path.rstrip("/"))]


@cache
def names_in(file: Path) -> frozenset[str]:
    """The names that a file binds, and those of its classes as ``Class.member``."""
    tree = ast.parse(file.read_text())
    found = set(bound_by(tree.body))
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            on_self = (
                part.attr
                for part in ast.walk(node)
                if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
            )
            found |= {f"{node.name}.{member}" for member in (*bound_by(node.body), *on_self)}
    return frozenset(found)


def bound_by(body: Iterable[ast.stmt]) -> Iterator[str]:
    """The names that statements bind."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.If):
            yield from bound_by([*node.body, *node.orelse])
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            yield from (
                part.id
                for part in ast.walk(node)
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            )


@cache
def words() -> frozenset[str]:
    """All names that the package binds, without the classes they belong to, and all parameters."""
    files = list(PACKAGE.rglob("*.py"))
    trees = (ast.parse(file.read_text()) for file in files)
    parameters = {n.arg for tree in trees for n in ast.walk(tree) if isinstance(n, ast.arg)}
    bound = {name.rpartition(".")[2] for file in files for name in names_in(file)}
    return frozenset(bound | parameters)


def is_public(name: str) -> bool:
    """Whether ``am.name`` exists."""
    found: object = advmdp
    for part in name.split(".")[1:]:
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


def is_dotted(name: str) -> bool:
    """Whether a dotted name is a module, or a name in one."""
    first, *parts = name.split(".")
    place = PACKAGE if first == "advmdp" else ROOT / first
    while parts and (place / parts[0]).is_dir():
        place /= parts.pop(0)
    if parts and (place / f"{parts[0]}.py").is_file():
        place /= f"{parts.pop(0)}.py"
    else:
        place /= "__init__.py"
    return not parts or ".".join(parts[:2]) in names_in(place)


@cache
def claims() -> frozenset[str]:
    """The claims: the keys of a dict ``CLAIMS``, and the names in ``Claim("name", ...)``."""
    found: list[ast.expr | None] = []
    for file in (PACKAGE / "claims").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
                found += node.value.keys if ast.unparse(node.target) == "CLAIMS" else []
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Claim":
                found += node.args[:1]
    names = (node.value for node in found if isinstance(node, ast.Constant))
    return frozenset(name for name in names if isinstance(name, str))


def problem_of(span: str) -> str | None:
    """What is wrong with a name in backticks, if anything."""
    if (path := PATH.fullmatch(span)) and span not in ELSEWHERE:
        files = files_at(path["path"])
        if not files:
            return f"{path['path']} does not exist"
        names = path["names"].split(", ") if path["names"] else []
        missing = [name for name in names if all(name not in names_in(file) for file in files)]
        return f"{path['path']} does not define {', '.join(missing)}" if missing else None
    if dotted := DOTTED.fullmatch(span):
        known = is_public if span.startswith("am.") else is_dotted
        return None if known(dotted["name"]) else f"{dotted['name']} does not exist"
    return None


# ---------------------------------------------------------------------- the checks


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_exist(page: Path) -> None:
    text = page.read_text()
    problems = [found for span in spans_of(text) if (found := problem_of(span))]
    problems += [f"no claim {name}" for name in claims_of(text) if name not in claims()]
    assert not problems


def test_every_entry_of_the_paper_map_can_be_checked() -> None:
    """Its tables of code and tests have nothing in backticks but names in one of the forms."""
    text = (DOCS / "paper_map.md").read_text()
    named = set(claims_of(text))
    cells = [cell for row in table_rows(text, "code", "test") for cell in row]
    spans = [span for cell in cells for span in SPAN.findall(cell) if span not in named]
    forms = (PATH, DOTTED, COMMAND)
    loose = [
        span for span in spans if span not in named if not any(f.fullmatch(span) for f in forms)
    ]
    assert not loose
    assert len(spans) > 90
    assert named == claims()


def test_the_notation_names_what_its_files_define() -> None:
    rows = list(table_rows((DOCS / "notation.md").read_text(), "name in the code", "file"))
    assert len(rows) > 25
    missing = []
    for code, listed in rows:
        files = [file for path in SPAN.findall(listed) for file in files_at(path)]
        defined = frozenset[str]().union(*map(names_in, files))
        names = [match["name"] for span in SPAN.findall(code) if (match := NAME.fullmatch(span))]
        missing += [f"{name}: not in {listed}" for name in names if name not in defined]
    assert not missing


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_bare_names_are_of_the_package(page: str) -> None:
    """Names without a path are bound somewhere: in a module, in a class, or as a parameter."""
    spans = spans_of((ROOT / page).read_text())
    bare = [match["name"] for span in spans if (match := BARE.fullmatch(span))]
    assert len(bare) > 20
    assert not [name for name in bare if name not in words() and not hasattr(builtins, name)]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.stem)
def test_paths_and_names_in_figures_exist(figure: Path) -> None:
    text = figure.read_text()
    names = re.findall(r'class="name"[^>]*>(?:\d )?(\w+)<', text)
    assert not [name for name in names if name not in words()]
    shown = re.sub(r"<style>.*?</style>|<[^>]*>", " ", text, flags=re.DOTALL)
    paths = [word for word in shown.split() if PATH.fullmatch(word)]
    assert len(paths) > 10
    assert not [path for path in paths if not any(PACKAGE.rglob(path.rstrip("/")))]


def test_the_checks_can_fail() -> None:
    """Files, names in files, modules and public names that do not exist, and some that do."""
    for wrong in (
        *(
            "kernels/mirror.py",
            "kernels/mirror/",
            "kernels/kl/dual.py: Pool",
            "layout/layout.py: Layout.rows",
        ),
        *("advmdp.kernels.episode", "advmdp.kernels.kl.dual.Pool", "am.TransitionSet"),
    ):
        assert problem_of(wrong), wrong
    for right in (
        *("kernels/kl/dual.py", "kernels/kl/", "kernels/kl/dual.py: Dual, Dual.beta", "am.play"),
        *(
            "layout/layout.py: Layout.layer_start",
            "advmdp.kernels.kl.dual.Dual",
            "tests/test_every_*.py",
        ),
    ):
        assert problem_of(right) is None, right
