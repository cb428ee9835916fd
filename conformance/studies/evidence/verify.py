"""Check this folder with the standard library of Python alone.

    python3 -I -S verify.py [--corpus DIR]

The script checks that

- every file has the hash that SHA256SUMS states, and that there is no other file, no link and no empty folder;
- every table has the same rows as CSV and as JSON, with the declared columns, types, keys and number of rows;
- every reference of a table leads to a row of another table, and every link of index.html to a file or an element;
- the counts that the tables state are those of the rows that they count;
- with --corpus, every file of the corpus has the hash that the table `files` states.

The exit status is 0 if all of this is so, and 1 if something is not.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import sys
from collections import Counter, defaultdict
from html import unescape
from itertools import islice
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Set, Tuple
from urllib.parse import unquote

Rows = List[Dict[str, Any]]
Tables = Dict[str, Rows]

SUMS = "SHA256SUMS"
TABLES = "tables.json"
PAGE = "index.html"
TYPES: Dict[str, Any] = {"text": str, "integer": int, "number": (int, float), "boolean": bool}
MAX_SHOWN = 20
DIGEST_LENGTH = 64
MAX_BYTES = 2**28
MAX_PAGE_BYTES = 2**24
MAX_TOTAL_BYTES = 2**30
MAX_ENTRIES = 1000
MAX_VALUES = 2**23

DAMAGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
    csv.Error,
)
"""Exceptions that damaged files cause."""


def main(arguments: List[str]) -> int:
    """Check the folder of this script, print the problems, and return the exit status."""
    if arguments and (len(arguments) != 2 or arguments[0] != "--corpus"):
        print(__doc__)
        return 1
    csv.field_size_limit(2**24)
    folder = Path(__file__).resolve().parent
    listed: Dict[str, str] = {}
    problems = [*check_sums(folder, listed)]
    if not problems:
        check_content(folder, listed, arguments[1:], problems)
    for problem in problems[:MAX_SHOWN]:
        show(problem)
    print(f"{len(problems)} problems." if problems else "No problem.")
    return 1 if problems else 0


def show(text: str) -> None:
    """Print a text as one line; unprintable characters are replaced by escapes."""
    shown = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
    encoding = sys.stdout.encoding or "ascii"
    print(shown.encode(encoding, "backslashreplace").decode(encoding))


def check_sums(folder: Path, listed: Dict[str, str]) -> Iterator[str]:
    """Yield a problem for each file that is missing, altered, not in SHA256SUMS, or not a regular file.

    Args:
        folder: the folder.
        listed: a mapping to which the hashes in SHA256SUMS are added, by file name.
    """
    present: Set[str] = set()
    wrong: Set[str] = set()
    for name, problem in walk(folder):
        (wrong if problem else present).add(name)
        if problem:
            yield f"{name} {problem}."
    if SUMS not in present:
        yield f"{SUMS} is missing."
        return
    try:
        lines = (folder / SUMS).read_text("utf-8").splitlines()
    except DAMAGE:
        yield f"{SUMS} is damaged: it cannot be read as text."
        return
    for number, line in enumerate(lines, 1):
        digest, _, name = line.partition("  ")
        if len(digest) != DIGEST_LENGTH or not name or name in listed:
            yield f"{SUMS} is damaged: line {number} is not the hash and the name of another file."
        listed[name] = digest
    yield from (f"{name} is missing." for name in sorted(listed.keys() - present - wrong))
    yield from (f"{name} is not in {SUMS}." for name in sorted(present - listed.keys() - {SUMS}))
    for name in sorted(listed.keys() & present):
        if digest_of(folder / name) != listed[name]:
            yield f"{name} is altered: its hash is not that in {SUMS}."


def digest_of(path: Path) -> str:
    """Return the hash of a regular file, and an empty text for everything else."""
    found = hashlib.sha256()
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as stream:
            for part in iter(lambda: stream.read(2**20), b""):
                found.update(part)
    except (OSError, ValueError):
        return ""
    return found.hexdigest()


def walk(folder: Path) -> Iterator[Tuple[str, str]]:
    """Yield the name of each file, and of each other entry with its problem; links are not followed."""
    errors: List[OSError] = []
    entries = size = 0
    for root, folders, files in os.walk(str(folder), onerror=errors.append):
        if not folders and not files:
            yield Path(root).relative_to(folder).as_posix(), "is an empty folder"
        entries += len(folders) + len(files)
        if entries > MAX_ENTRIES:
            yield ".", "has more than %d files and folders" % MAX_ENTRIES
            return
        for path in (Path(root) / name for name in folders + files):
            name = path.relative_to(folder).as_posix()
            if path.is_symlink():
                yield name, "is a link"
            elif path.is_file():
                limit = MAX_PAGE_BYTES if name == PAGE else MAX_BYTES
                length = path.stat().st_size
                size += length
                if size - length <= MAX_TOTAL_BYTES < size:
                    yield ".", "has files of more than 1 GiB"
                yield name, "is larger than %d MiB" % (limit // 2**20) if length > limit else ""
            elif not path.is_dir():
                yield name, "is neither a file nor a folder"
    for error in errors:
        yield os.path.relpath(str(error.filename), str(folder)), "cannot be read"


def check_content(folder: Path, listed: Dict[str, str], corpus: List[str], problems: List[str]) -> None:
    """Check the tables and the page of a folder of which all hashes are right, and print how much was checked."""

    def attempt(what: str, check: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return check(*arguments)
        except DAMAGE as error:
            problems.append(f"{what} cannot be checked: {type(error).__name__}: {error}.")
            return None

    declared = attempt(TABLES, lambda: read_json(folder / TABLES)["tables"])
    tables: Tables = {}
    for number, table in enumerate(declared if isinstance(declared, list) else [], 1):
        rows = attempt(f"table {number} of {TABLES}", read_table, folder, table, problems)
        if rows is not None:
            tables[table["name"]] = rows
    links = files = 0
    if not problems:
        links = attempt("the references of the tables", check_references, declared, tables, problems) or 0
        attempt("the counts of the tables", check_counts, tables, problems)
        links += attempt(PAGE, check_page, folder, listed, problems) or 0
        if corpus:
            files = attempt("the corpus", check_corpus, Path(corpus[0]), tables, problems) or 0
    rows = sum(map(len, tables.values()))
    print(f"{len(tables)} tables with {rows} rows, {links} links, {files} files of the corpus.")


def read_json(path: Path) -> Any:
    """Return a document of JSON with distinct keys, after a check that memory suffices for the number of its values."""
    content = path.read_bytes()
    if sum(map(content.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise ValueError("it has more than %d values" % MAX_VALUES)
    return json.loads(content.decode("utf-8"), object_pairs_hook=distinct_keys)


def distinct_keys(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    """Return an object of a document; an error if two of its keys are equal."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("it has two equal keys in an object")
    return found


def read_table(folder: Path, table: Dict[str, Any], problems: List[str]) -> Rows:
    """Return the rows of a table as dictionaries, and add what is wrong with it to the problems."""
    name = table["name"]
    columns = table["columns"]
    names = [column["name"] for column in columns]
    document = read_json(folder / "tables" / f"{name}.json")
    rows = document["rows"]
    if document["columns"] != names or document["table"] != name:
        problems.append(f"{name}.json has other columns than {TABLES} declares.")
    if len(rows) != table["rows"]:
        problems.append(f"{name}.json has {len(rows)} rows; {TABLES} states {table['rows']}.")
    for number, row in enumerate(rows, 1):
        wrong = len(row) != len(columns) or not all(map(has_type, row, columns))
        if wrong:
            problems.append(f"{name}.json, row {number}: a cell has another type than {TABLES} declares.")
    with (folder / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        head, *texts = islice(csv.reader(stream), len(rows) + 2)
    if head != names or texts != [[csv_text(cell) for cell in row] for row in rows]:
        problems.append(f"{name}.csv and {name}.json differ.")
    found = [dict(zip(names, row)) for row in rows]
    if table["key"]:
        keys = Counter(tuple(row[key] for key in table["key"]) for row in found)
        problems.extend(f"{name} has {count} rows with the key {key}." for key, count in keys.items() if count > 1)
    return found


def has_type(cell: Any, column: Dict[str, str]) -> bool:
    """Return whether a cell has the type of its column."""
    if column["type"] == "list":
        return isinstance(cell, list) and all(isinstance(item, str) for item in cell)
    if cell is None or isinstance(cell, bool):
        return cell is None or column["type"] == "boolean"
    return isinstance(cell, TYPES[column["type"]])


def csv_text(cell: Any) -> str:
    """Return the text of a cell in a CSV file; an apostrophe precedes a text that could be a formula."""
    if cell is None or isinstance(cell, bool):
        return {None: "", True: "true", False: "false"}[cell]
    if isinstance(cell, (int, float)):
        return repr(cell)
    text = cell if isinstance(cell, str) else "; ".join(cell)
    if not text.startswith(("=", "+", "-", "@")):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def check_references(declared: Rows, tables: Tables, problems: List[str]) -> int:
    """Check the references between tables, and return their number."""
    links = 0
    for table in declared:
        for column in table["columns"]:
            if "references" not in column:
                continue
            target, _, key = column["references"].partition(".")
            known = {row[key] for row in tables[target]}
            for row in tables[table["name"]]:
                cell = row[column["name"]]
                for value in cell if isinstance(cell, list) else [] if cell in (None, "") else [cell]:
                    links += 1
                    if value not in known:
                        problems.append(f"{table['name']}.{column['name']}: {value} is not in {column['references']}.")
    return links


def check_counts(tables: Tables, problems: List[str]) -> None:
    """Check the counts and the lists that follow from other tables."""
    cases_of: Dict[str, Set[str]] = defaultdict(set)
    clauses_of: Dict[str, Set[str]] = defaultdict(set)
    by_case: Dict[str, Set[str]] = defaultdict(set)
    by_clause: Dict[str, Set[str]] = defaultdict(set)
    for row in tables["requirement_cases"]:
        cases_of[row["requirement"]].add(row["case"])
        by_case[row["case"]].add(row["requirement"])
        if row["clause"]:
            clauses_of[row["requirement"]].add(row["clause"])
            by_clause[row["clause"]].add(row["requirement"])
    cases_of_clause: Dict[str, Set[str]] = defaultdict(set)
    data_sets: Dict[Tuple[str, str], Set[int]] = defaultdict(set)
    of_case: Dict[str, int] = defaultdict(int)
    for row in tables["cases"]:
        for clause in row["clauses"]:
            cases_of_clause[clause].add(row["case"])
    for row in tables["verdicts"]:
        data_sets[row["subject"], row["case"]].add(row["data_set"])
    results = {(row["subject"], row["case"]): row["verdict"] for row in tables["results"]}
    for _, case in results:
        of_case[case] += 1

    def expect(what: str, stated: Any, found: Any) -> None:
        if stated != found:
            problems.append(f"{what}: stated {stated}, counted {found}.")

    for row in tables["requirements"]:
        name = row["requirement"]
        expect(f"cases of requirement {name}", row["cases"], len(cases_of[name]))
        expect(f"clauses of requirement {name}", row["clauses"], sorted(clauses_of[name]))
        expect(f"results of requirement {name}", row["results"], sum(of_case[case] for case in cases_of[name]))
    without = [not row["cases"] for row in tables["requirements"]]
    expect("requirements without a case stand first", without, sorted(without, reverse=True))
    for row in tables["clauses"]:
        expect(f"cases of clause {row['clause']}", row["cases"], len(cases_of_clause[row["clause"]]))
        expect(f"requirements of clause {row['clause']}", row["requirements"], sorted(by_clause[row["clause"]]))
    sizes = {row["case"]: row["data_sets"] for row in tables["cases"]}
    for row in tables["cases"]:
        expect(f"requirements of case {row['case']}", row["requirements"], sorted(by_case[row["case"]]))
        expect(f"results of case {row['case']}", row["results"], of_case[row["case"]])
    for (subject, case), found in data_sets.items():
        expect(f"data sets of {case} on {subject}", sizes[case], len(found))
    counted: Dict[Tuple[str, str], Dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for (subject, case), verdict in results.items():
        for requirement in by_case[case]:
            counted[requirement, subject][verdict] += 1
    stated: Dict[Tuple[str, str], Dict[str, int]] = {}
    for row in tables["requirement_verdicts"]:
        stated.setdefault((row["requirement"], row["subject"]), {})[row["verdict"]] = row["results"]
    expect("verdicts by requirement and subject", stated, {key: dict(count) for key, count in counted.items()})
    totals = {row["subject"]: row["results"] for row in tables["subjects"]}
    expect("results by subject", totals, {**dict.fromkeys(totals, 0), **Counter(subject for subject, _ in results)})


ATTRIBUTE = re.compile(r'\s(id|href|src)="([^"<>]*)"')


def check_page(folder: Path, listed: Dict[str, str], problems: List[str]) -> int:
    """Check the links of index.html that lead into this folder, and return their number."""
    found = [(name, unescape(value)) for name, value in ATTRIBUTE.findall((folder / PAGE).read_text("utf-8"))]
    names = {value for name, value in found if name == "id"}
    links = [value for name, value in found if name != "id"]
    inner = [link for link in links if not link.startswith(("http://", "https://", "data:"))]
    for link in inner:
        path, _, name = link.partition("#")
        if path and unquote(path) not in {SUMS, *listed}:
            problems.append(f"{PAGE} has a link to {path}, which is not in the folder.")
        if not path and unquote(name) not in names:
            problems.append(f"{PAGE} has a link to #{name}, which is not on the page.")
    return len(inner)


def check_corpus(corpus: Path, tables: Tables, problems: List[str]) -> int:
    """Compare the files of a corpus with the table `files`, and return their number."""
    folders = {row["case"]: row["kind"] for row in tables["cases"]}
    for row in tables["files"]:
        path = corpus / folders[row["case"]] / row["case"] / row["file"]
        if digest_of(path) != row["sha256"]:
            problems.append(f"{path} is missing or differs from the table files.")
    return len(tables["files"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
