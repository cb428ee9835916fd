"""Expectations files: TOML files that list the known failures of one subject by cause, and what the subject supports.

subject = "acme"
corpus = "onnx-conformance"
supports = ["Adam[float]", "Momentum[float] in 98 of 140 cases"]

[[expect]]
reason = "The learning rate is not decayed."
fail = ["test_adam_*", "test_momentum"]
error = ["test_adagrad"]
"""

from __future__ import annotations

import re
import uuid
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import translate
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any

from conformance.base.errors import ExpectationsError
from conformance.base.files.atomic_write import read_input
from conformance.base.serialization.decoding import MalformedError, decode_toml
from conformance.base.verdicts import Verdict
from conformance.run.expectations.conditions import Condition, ConditionContext, parse_condition, string_tuple
from conformance.run.expectations.support import Support, parse_supports
from conformance.run.results.records import Expected
from conformance.run.results.wrong_elements import WRONG_KINDS, is_wrong_word, smaller_words

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

MAX_FILE_BYTES = 2**20
"""Maximum size of a file: tomlkit reads some files of this size in 16 seconds."""

MAX_ENTRIES = 2**12
MAX_PATTERNS = 2**11
"""Maximum numbers of entries, and of patterns with wildcards, of a file: each case of a run is compared with each."""

MAX_LOCATED_CHARACTERS = 2**18
"""Size of a text whose lines are found; tomlkit takes seconds for a larger one."""

SUITE_CORPUS = "onnx-conformance"
"""Name by which an expectations file means the corpus of the suite."""

VERDICT_KEYS = tuple(str(verdict) for verdict in Verdict if verdict is not Verdict.PASS)
"""The keys of an `[[expect]]` table that list cases, each named after the expected verdict."""

_KEYS = (
    "reason",
    "issue",
    "mutants",
    "wrong",
    "when",
    "checks",
    "intermittent",
    "except",
    *VERDICT_KEYS,
    "cases",
    "verdict",
)


@dataclass(frozen=True)
class Expectation:
    """The cases of one `[[expect]]` table with one expected verdict.

    Attributes:
        cases: patterns over ids of cases, with `*` and `?`.
        verdict: the expected verdict.
        reason: why the verdict is expected.
        location: file and line of the entry, for messages.
        exceptions: patterns over ids of cases to which the entry does not apply.
        issue: URL of an issue about the failure, or empty.
        condition: condition under which the entry applies, or None if it always applies.
        lines: location of each pattern; empty if unknown.
        checks: names of the checks that a graph optimizer may violate; empty if it may violate any check.
        intermittent: whether a case may also pass, because the failure depends on chance.
        mutants: ids of mutants. The first explains each failure, alone or together with others; empty if unknown.
        wrong: what is wrong with the outputs, see `wrong_elements`; empty if anything is expected.
        table: index of the `[[expect]]` table.
        key: key of the table that lists the cases.
    """

    cases: tuple[str, ...]
    verdict: Verdict
    reason: str
    location: str
    exceptions: tuple[str, ...] = ()
    issue: str = ""
    condition: Condition | None = None
    lines: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    intermittent: bool = False
    mutants: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    table: int = 0
    key: str = "cases"

    @cached_property
    def _patterns(self) -> tuple[_Patterns, _Patterns]:
        return _Patterns(self.cases), _Patterns(self.exceptions)

    def matches(self, case: str) -> bool:
        """Return whether a pattern of the entry, and no exception, matches a case."""
        cases, exceptions = self._patterns
        return cases.match(case) and not exceptions.match(case)

    def matching(self, case: str) -> list[int]:
        """Return the indices of the patterns that match a case."""
        return self._patterns[0].matching(case)

    def cases_of_each(self, cases: Collection[str]) -> list[set[str]]:
        """Return the cases that each pattern matches."""
        found: list[set[str]] = [set() for _ in self.cases]
        for case in cases:
            for number in self.matching(case):
                found[number].add(case)
        return found

    def location_of(self, case: str) -> str:
        """Return the location of the first pattern that matches a case."""
        return self.location_of_pattern(self.matching(case)[0])

    def location_of_pattern(self, number: int) -> str:
        """Return the location of a pattern; if it is unknown, the location of the entry."""
        return self.lines[number] if number < len(self.lines) else self.location

    def smaller_wrong(self, words: Collection[str]) -> tuple[str, ...] | None:
        """Return what the entry can list as wrong instead, if a failure has clearly fewer wrong elements; else None."""
        is_fixed = not self.wrong or self.intermittent or self.mutants
        return None if is_fixed else smaller_words(words, self.wrong)

    def expected(self, case: str, *, has_other_cause: bool = False, has_shrunk: bool = False) -> Expected:
        """Return the record of what the entry expects of a case that it matches."""
        return Expected(
            self.verdict,
            self.reason,
            self.issue,
            self.location_of(case),
            list(self.checks),
            intermittent=self.intermittent,
            mutants=list(self.mutants),
            wrong=list(self.wrong),
            has_other_cause=has_other_cause,
            has_shrunk=has_shrunk,
        )


class _Patterns:
    """Patterns of cases. A name without wildcards is looked up; the other patterns are tried one after the other."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._names: dict[str, list[int]] = {}
        self._others: dict[int, str] = {}
        for number, pattern in enumerate(patterns):
            if has_wildcard(pattern):
                self._others[number] = translate(pattern)
            else:
                self._names.setdefault(pattern, []).append(number)

    @cached_property
    def _any(self) -> re.Pattern[str]:
        return re.compile("|".join(self._others.values()) or r"(?!)")

    @cached_property
    def _each(self) -> dict[int, re.Pattern[str]]:
        return {number: re.compile(pattern) for number, pattern in self._others.items()}

    def match(self, case: str) -> bool:
        """Return whether a pattern matches a case."""
        return case in self._names or self._any.fullmatch(case) is not None

    def matching(self, case: str) -> list[int]:
        """Return the indices of the patterns that match a case."""
        others = [number for number, pattern in self._each.items() if pattern.fullmatch(case)]
        return sorted([*self._names.get(case, ()), *others])


def has_wildcard(pattern: str) -> bool:
    """Return whether a pattern of cases is not the name of one case."""
    return any(character in pattern for character in "*?[")


@dataclass(frozen=True)
class Expectations:
    """The expectations file of one subject.

    Attributes:
        subject: name of the subject.
        entries: the entries; the first that matches a case applies.
        supports: the supported operators; None if the file does not list them.
        name: name of the file, for messages.
        corpus: name of the corpus whose cases the entries name; empty if the file does not name one.
    """

    subject: str
    entries: tuple[Expectation, ...]
    supports: tuple[Support, ...] | None = None
    name: str = ""
    corpus: str = ""

    def entry_for(self, case: str) -> Expectation | None:
        """Return the entry that applies to a case, or None if the case is expected to pass."""
        return next((entry for entry in self.entries if entry.matches(case)), None)

    def applying(self, context: ConditionContext) -> Expectations:
        """Return the expectations with only the entries whose conditions are satisfied.

        Raises:
            ExpectationsError: a condition has a version specifier, but the version of the run is not comparable.
        """
        entries = (entry for entry in self.entries if entry.condition is None or entry.condition.holds(context))
        return replace(self, entries=tuple(entries))


def read_expectations(path: Path) -> Expectations:
    """Return the content of an expectations file.

    Raises:
        ExpectationsError: the file cannot be read or is malformed.
    """
    return parse_expectations(read_expectations_text(path), str(path))


def read_expectations_by_subject(
    paths: Sequence[Path], subjects: Sequence[str], corpus: str = "", cases: Collection[str] = ()
) -> Mapping[str, Expectations]:
    """Return the expectations for the subjects of a run, by subject.

    Args:
        paths: the files.
        subjects: the subjects of the run.
        corpus: the name of the corpus of the run; empty for the corpus of the suite.
        cases: the ids of the cases of the corpus, as far as they are known.

    Raises:
        ExpectationsError: a file is malformed or about another corpus, its subject is not run, or two files have the
            same subject.
    """
    found: dict[str, Expectations] = {}
    for path in paths:
        expectations = read_expectations(path)
        subject = expectations.subject
        if subject not in subjects:
            raise ExpectationsError("subject-not-run.by-this-run", path=path, subject=subject, known=subjects)
        if subject in found:
            raise ExpectationsError("subject-twice", path=path, subject=subject)
        check_same_corpus(expectations, corpus, cases)
        found[subject] = expectations
    return found


def check_same_corpus(expectations: Expectations, corpus: str, cases: Collection[str]) -> None:
    """Check that a file is about the corpus of a run: it names the corpus, or else one of its entries matches a case.

    A file without the name of a corpus may be about the corpus of the suite without a matching case.

    Args:
        expectations: the content of the file.
        corpus: the name of the corpus of the run; empty for the corpus of the suite.
        cases: the ids of the cases of the corpus, as far as they are known.

    Raises:
        ExpectationsError: it is about another one.
    """
    entries = expectations.entries
    is_unnamed = corpus and not expectations.corpus and entries and cases
    if is_unnamed and not any(entry.matching(case) for entry in entries for case in cases):
        raise ExpectationsError("no-entry-matches", name=expectations.name, count=len(entries), other=corpus)
    if expectations.corpus and expectations.corpus != (corpus or SUITE_CORPUS):
        raise ExpectationsError(
            "other-corpus", name=expectations.name, corpus=expectations.corpus, other=corpus or SUITE_CORPUS
        )


def read_expectations_text(path: Path) -> str:
    """Return the text of an expectations file.

    Raises:
        ExpectationsError: the file cannot be read, is too large or is not UTF-8, or is a results file.
    """
    if path.suffix == ".jsonl" and path.is_file():
        raise ExpectationsError("is-results", path=path)
    try:
        text = read_input(path, MAX_FILE_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise ExpectationsError("cannot-read", path=path, reason=error.strerror) from None
    except UnicodeDecodeError:
        raise ExpectationsError("malformed.binary", path=path) from None
    if text.lstrip().startswith("{"):  # JSON, which is never TOML
        raise ExpectationsError("is-results", path=path)
    return text


def parse_expectations(text: str, name: str) -> Expectations:
    """Return the content of an expectations file.

    Args:
        text: the text of the file.
        name: name of the file, for messages.

    Raises:
        ExpectationsError: the text is malformed.
    """
    try:
        document = decode_toml(text)
    except MalformedError as error:
        raise ExpectationsError("malformed.toml", name=name, error=error) from None
    subject = document.get("subject")
    entries = document.get("expect", [])
    is_known = not set(document) - {"subject", "corpus", "supports", "expect"}
    corpus = document.get("corpus", "")
    if not isinstance(subject, str) or not isinstance(corpus, str) or not isinstance(entries, list) or not is_known:
        raise ExpectationsError("malformed.form", name=name)
    supports = parse_supports(name, document["supports"]) if "supports" in document else None
    if len(entries) > MAX_ENTRIES:
        raise ExpectationsError("too-large", name=name, most=MAX_ENTRIES, what="entries")
    locations = _locations(text, name) if entries and len(text) <= MAX_LOCATED_CHARACTERS else []
    if len(locations) != len(entries):
        locations = [_EntryLocation(f"{name}, entry {number}") for number in range(1, len(entries) + 1)]
    tables = [entry if isinstance(entry, dict) else {} for entry in entries]
    parsed = [entry for number, table in enumerate(tables) for entry in _parse_table(locations[number], number, table)]
    if sum(has_wildcard(each) for entry in parsed for each in (*entry.cases, *entry.exceptions)) > MAX_PATTERNS:
        raise ExpectationsError("too-large", name=name, most=MAX_PATTERNS, what="patterns with wildcards")
    return Expectations(subject, tuple(parsed), supports, name, corpus)


@dataclass(frozen=True)
class _EntryLocation:
    """Location of an entry in an expectations file, for messages.

    Attributes:
        entry: file and line of the entry; file and number of the entry if the line is unknown.
        patterns: for each key that lists cases, the location of each pattern; empty if unknown.
    """

    entry: str
    patterns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.entry


def _locations(text: str, name: str) -> list[_EntryLocation]:
    """Return the location of each `[[expect]]` table; empty if the entries are written in another form.

    Method: the function inserts unique marker texts into the parsed document, writes it with tomlkit, and finds the
    lines of the markers. tomlkit keeps the layout of the file, so these are the lines of the entries.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError
    from tomlkit.items import AoT, Array

    marker = uuid.uuid4().hex
    numbers = count()
    marked: list[tuple[int, dict[str, list[int]]]] = []
    with suppress(TOMLKitError, ValueError, RecursionError):
        document = tomlkit.parse(text)
        entries = document["expect"]
        for entry in entries if isinstance(entries, AoT) else ():
            header = next(numbers)
            entry.trivia.comment_ws = " "
            entry.trivia.comment = f"# {marker}-{header}-"
            keys: dict[str, list[int]] = {}
            for key in {"cases", *VERDICT_KEYS} & entry.keys():
                patterns = keys.setdefault(key, [])
                cases = entry[key]
                if isinstance(cases, Array):
                    for place, item in enumerate(cases):
                        patterns.append(next(numbers))
                        cases[place] = _marker_string(f"{marker}-{patterns[-1]}-", item)
                elif isinstance(cases, str):
                    patterns.append(next(numbers))
                    entry[key] = _marker_string(f"{marker}-{patterns[-1]}-", cases)
            marked.append((header, keys))
        lines = tomlkit.dumps(document).split("\n")
        line_of = {
            int(found[1]): f"{name}:{number}"
            for number, line in enumerate(lines, 1)
            for found in re.finditer(f"{marker}-(\\d+)-", line)
        }
        return [
            _EntryLocation(
                line_of[header],
                {key: tuple(line_of[number] for number in patterns) for key, patterns in keys.items()},
            )
            for header, keys in marked
        ]
    return []


def _marker_string(marker: str, item: Any) -> Any:
    """Return a string that begins with `marker` and has as many lines as `item`, so that line numbers stay the same."""
    import tomlkit

    newlines = item.as_string().count("\n") if hasattr(item, "as_string") else 0
    return tomlkit.string(marker + "\n" * newlines, multiline=bool(newlines))


def _parse_table(location: _EntryLocation, number: int, table: Mapping[str, Any]) -> list[Expectation]:
    """Return an expectation for each verdict in an `[[expect]]` table.

    In older files a table has the keys `cases` and `verdict` instead of a key named after each verdict.

    Raises:
        ExpectationsError: a key is unknown or missing, or a value is malformed.
    """
    verdicts = _parse_verdicts(location, table)
    if not isinstance(table["reason"], str) or not table["reason"].strip():
        raise ExpectationsError("malformed-entry.reason", location=location)
    if not isinstance(table.get("issue", ""), str):
        raise ExpectationsError("malformed-entry.issue", location=location, issue=table["issue"])
    if not isinstance(table.get("intermittent", False), bool):
        raise ExpectationsError("malformed-entry.intermittent", location=location, given=table["intermittent"])
    checks = _parse_patterns(location, table, "checks")
    if checks and set(verdicts.values()) != {Verdict.FAIL}:
        raise ExpectationsError("malformed-entry.checks", location=location, verdicts=list(verdicts.values()))
    mutants = _parse_patterns(location, table, "mutants")
    wrong = _parse_patterns(location, table, "wrong")
    if unknown := sorted(word for word in wrong if not is_wrong_word(word)):
        raise ExpectationsError(
            "malformed-entry.wrong", location=location, given=unknown[0], known=(*WRONG_KINDS, "one of output 0")
        )
    return [
        Expectation(
            cases=_parse_patterns(location, table, key),
            verdict=verdict,
            reason=table["reason"].strip(),
            location=str(location),
            exceptions=_parse_patterns(location, table, "except"),
            issue=table.get("issue", "").strip(),
            condition=parse_condition(str(location), table["when"]) if "when" in table else None,
            lines=location.patterns.get(key, ()),
            checks=checks,
            intermittent=table.get("intermittent", False),
            mutants=mutants,
            wrong=wrong if verdict is Verdict.FAIL else (),
            table=number,
            key=key,
        )
        for key, verdict in verdicts.items()
    ]


def _parse_verdicts(location: _EntryLocation, table: Mapping[str, Any]) -> dict[str, Verdict]:
    """Return the verdict of each key that lists cases.

    Raises:
        ExpectationsError: a key is unknown or missing, or the verdict is unknown.
    """
    if unknown := sorted(set(table) - set(_KEYS)):
        raise ExpectationsError(
            "malformed-entry.unknown-key", location=location, key=unknown[0], known=_KEYS, keys=VERDICT_KEYS
        )
    found = {key: Verdict(key) for key in table if key in VERDICT_KEYS}
    is_older = bool({"cases", "verdict"} & set(table))
    needed = ("cases", "verdict", "reason") if is_older else ("reason",)
    if missing := sorted(set(needed) - set(table)):
        raise ExpectationsError("malformed-entry.missing-key", location=location, key=missing[0], keys=VERDICT_KEYS)
    if is_older and table["verdict"] not in VERDICT_KEYS:
        given = table["verdict"]
        raise ExpectationsError("malformed-entry.verdict", location=location, verdict=given, known=VERDICT_KEYS)
    if is_older and found:
        raise ExpectationsError("malformed-entry.two-forms", location=location, key=min(found))
    if not is_older and not found:
        raise ExpectationsError("malformed-entry.cases", location=location, keys=VERDICT_KEYS)
    return {"cases": Verdict(table["verdict"])} if is_older else found


def _parse_patterns(location: _EntryLocation, table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return the patterns of a key, whose value is a string or a list of strings; empty without the key."""
    given = table.get(key)
    patterns = string_tuple(given)
    if key in table and not (patterns and all(patterns)):
        raise ExpectationsError("malformed-entry.patterns", location=location, key=key, given=given)
    return patterns
