"""The SQLite index of a store: verdict and cause of every result, for queries that would otherwise read all files.

The index has no information of its own. `open_index` adds the results files that are new, and removes those that are
gone, in one transaction. A damaged index is built again. Without space on the disk, the index is in memory.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from conformance.base.files.atomic_write import unpack_gzip
from conformance.base.files.journal import open_state, state_errors
from conformance.base.verdicts import Verdict
from conformance.run.results.failure_groups import find_cause
from conformance.run.results.records import Footer, Result
from conformance.run.results.results_file import decode_record
from conformance.studies.history.store import (
    INDEX_FILE,
    history_cases,
    malformed_release_error,
    read_lines,
    store_errors,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.studies.history.store import HistoryStore, StoredRelease

_VERSION = 2
_SQLITE_SUFFIXES = ("-journal", "-wal", "-shm")

_TABLES = (
    "CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT UNIQUE, size INTEGER, modified INTEGER)",
    "CREATE TABLE causes (id INTEGER PRIMARY KEY, text TEXT UNIQUE)",
    """CREATE TABLE results (
        file INTEGER, case_id TEXT, level TEXT, verdict TEXT, cause INTEGER, returned TEXT, varies INTEGER,
        PRIMARY KEY (file, case_id)
    ) WITHOUT ROWID""",
)


@contextmanager
def open_index(store: HistoryStore) -> Iterator[sqlite3.Connection]:
    """Yield the index of a store with all results files; it is in memory if its file cannot be written.

    Raises:
        HistoryError: a file of the store is damaged.
        ResultsError: a results file is damaged.
        JobError: the file of the index is a link, a pipe or a device.
    """
    connection = _complete_index(store)
    try:
        yield connection
    finally:
        connection.close()


def _complete_index(store: HistoryStore) -> sqlite3.Connection:
    """Return an index that has all results files of a store; a damaged file is replaced."""
    path = store.folder / INDEX_FILE
    for each in (path, *(Path(f"{path}{suffix}") for suffix in _SQLITE_SUFFIXES)):
        if os.path.lexists(each) and not each.is_dir():
            with state_errors(each):
                os.close(open_state(each))
    if path.parent.is_dir() and os.access(path.parent, os.W_OK):
        for _ in range(2):
            try:
                return _open_complete(store, str(path))
            except sqlite3.OperationalError:  # the disk is full, or the file cannot be written
                break
            except sqlite3.DatabaseError:
                path.unlink(missing_ok=True)
    return _open_complete(store, ":memory:")


def _open_complete(store: HistoryStore, database: str) -> sqlite3.Connection:
    connection = sqlite3.connect(database, timeout=60)
    try:
        with connection:
            connection.execute("BEGIN IMMEDIATE")  # other processes that complete the index wait
            _check_tables(connection)
            refresh_index(connection, store)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_tables(connection: sqlite3.Connection) -> None:
    """Create the tables in an empty database.

    Raises:
        sqlite3.DatabaseError: the database is damaged, of another version, or has other tables, a view or a trigger.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL LIMIT ?"
    found = {sql for (sql,) in connection.execute(query, (len(_TABLES) + 1,))}
    if version == 0 and not found:
        for statement in (*_TABLES, f"PRAGMA user_version = {_VERSION}"):
            connection.execute(statement)
        return
    if version != _VERSION or found != {*_TABLES}:
        raise sqlite3.DatabaseError
    if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise sqlite3.DatabaseError


def refresh_index(connection: sqlite3.Connection, store: HistoryStore) -> None:
    """Add the results files that the index lacks, and remove those that no longer exist or have changed."""
    known = {path: (id, size, modified) for id, path, size, modified in connection.execute("SELECT * FROM files")}
    present: set[str] = set()
    case_kinds: dict[str, dict[str, str]] = {}
    for stored in store.releases():
        name = str(stored.path.relative_to(store.folder))
        status = stored.path.stat()
        present.add(name)
        if known.get(name, ())[1:] == (status.st_size, status.st_mtime_ns):
            continue
        if name in known:
            _remove_file(connection, known[name][0])
        if stored.digest not in case_kinds:
            case_kinds[stored.digest] = {
                record.case: record.kind for record in history_cases(stored.path, stored.digest)
            }
        cursor = connection.execute(
            "INSERT INTO files (path, size, modified) VALUES (?, ?, ?)", (name, status.st_size, status.st_mtime_ns)
        )
        _add_results(connection, cast("int", cursor.lastrowid), stored, case_kinds[stored.digest])
    for name, (id, *_) in known.items():
        if name not in present:
            _remove_file(connection, id)


def _remove_file(connection: sqlite3.Connection, id: int) -> None:
    connection.execute("DELETE FROM results WHERE file = ?", (id,))
    connection.execute("DELETE FROM files WHERE id = ?", (id,))


def _add_results(connection: sqlite3.Connection, file: int, stored: StoredRelease, kinds: dict[str, str]) -> None:
    causes = {text: id for id, text in connection.execute("SELECT id, text FROM causes")}
    rows = []
    for result in results_of(stored):
        cause = None
        if result.verdict not in {Verdict.PASS, Verdict.SKIPPED}:
            text = find_cause(kinds.get(result.case, "node"), result).line
            if text not in causes:
                causes[text] = cast(
                    "int", connection.execute("INSERT INTO causes (text) VALUES (?)", (text,)).lastrowid
                )
            cause = causes[text]
        rows.append((file, result.case, result.level, result.verdict, cause, result.returned, result.varies))
    connection.executemany("INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def results_of(stored: StoredRelease) -> Iterator[Result]:
    """Yield the result records of a release, without reading the records of the cases.

    Raises:
        ResultsError: the file is damaged.
    """
    cases: set[str] = set()
    record: object = None
    with store_errors(stored.path, malformed_release_error):
        for line in read_lines(stored.path, unpack_gzip, malformed_release_error):
            record = decode_record(line)
            if isinstance(record, Result):
                if record.case in cases:
                    raise malformed_release_error(stored.path, f"it has two results of {record.case}")
                cases.add(record.case)
                yield record
    if not isinstance(record, Footer) or record.results != len(cases):
        raise malformed_release_error(stored.path, "it has no footer that counts its results")
