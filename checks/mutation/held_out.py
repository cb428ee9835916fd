"""Held-out mutants: mutants that are not in the catalogue, read from a TOML file.

The catalogue was written together with the corpus, so its mutation score is too optimistic. Mutants that the authors of
the corpus have not seen give a fair score. Do not store such a file in the repository of the corpus.

Each `[[mutant]]` is a wrong implementation of an operator, in the format of the catalogue's files. The module
`conformance.run.mutants` explains all keys. `operator` is required here, and `clause` is optional:

    [[mutant]]
    id = "adam.no_bias_correction"          # the operator's name and one of your own
    operator = "Adam"                       # an op_type with a reference kernel
    text = "does not correct the bias"      # a verb phrase
    edits = { "R * np.sqrt(1 - beta**T) / (1 - alpha**T)" = "R" }   # pseudo-code text = its replacement

Each `[[pass_mutant]]` is a wrong implementation of the pass: the suite's own implementation with steps replaced by
Python expressions. An expression can use all names of the module
`conformance.corpus.passes.eliminate_nop_monotone_argmax`:

    [[pass_mutant]]
    id = "removes_before_argmin_too"
    text = "ignores the axes"
    steps = { is_monotone = "lambda site: site.producer.op_type in ELEMENTWISE | ALONG_AXIS" }

Replacements and expressions are executed as Python code. Use only files that you trust.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from checks.mutation.pass_mutants.pass_mutant import PassMutant, replace_steps
from conformance.base.errors import ConformanceError
from conformance.base.verdicts import Level
from conformance.corpus.passes import eliminate_nop_monotone_argmax
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.run.mutants import (
    FAMILIES,
    FAMILY_OPERATORS,
    Mutant,
    MutantFile,
    MutantTable,
    mutants_of_table,
    table_operators,
)
from conformance.run.mutants.mutant import replace_pseudocode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class HeldOutError(ConformanceError):
    """A file of held-out mutants cannot be used."""

    area = "held-out"


class _PassMutantTable(msgspec.Struct, forbid_unknown_fields=True):
    """A table `[[pass_mutant]]` of the file."""

    id: str
    text: str
    steps: dict[str, str]
    level: Level = Level.MUST


class _HeldOutFile(MutantFile, forbid_unknown_fields=True):
    """The content of a file of held-out mutants."""

    pass_mutant: list[_PassMutantTable] = msgspec.field(default_factory=list)


def read_held_out(path: Path) -> tuple[dict[str, tuple[Mutant, ...]], dict[str, tuple[PassMutant, ...]]]:
    """Read the mutants of a file.

    Returns:
        The mutants of operators by family, and the mutants of the pass under the theme "held out". Both can be empty.

    Raises:
        HeldOutError: the file cannot be read, is not TOML, has unknown keys, or a mutant in it cannot be built.
    """
    try:
        file = msgspec.convert(tomllib.loads(path.read_text("utf-8")), _HeldOutFile)
    except OSError as error:
        raise HeldOutError("file-unreadable", f"{path}: {error.strerror}.", "Pass a readable file.") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        hint = "See the documentation of checks/mutation/held_out.py for the format."
        raise HeldOutError("malformed", f"{path} is not a file of held-out mutants: {error}.", hint) from None
    mutants: dict[str, list[Mutant]] = {}
    passes = []
    tables: list[MutantTable | _PassMutantTable] = [*file.mutant, *file.pass_mutant]
    for table in tables:
        try:
            if isinstance(table, _PassMutantTable):
                passes.append(_pass_mutant(table))
                continue
            for operator in table_operators(file, table):
                mutants.setdefault(_family(operator), []).extend(_mutants(file, table, operator))
        except Exception as error:  # noqa: BLE001 - an expression of the file can raise anything
            hint = "Correct the mutant; checks/mutation/held_out.py documents the format."
            raise HeldOutError("mutant-invalid", f"{path}: mutant {table.id}: {error}.", hint) from None
    if not mutants and not passes:
        raise HeldOutError("no-mutants", f"{path} has no mutants.", "Add [[mutant]] or [[pass_mutant]] tables.")
    families = {family: tuple(mutants[family]) for family in FAMILIES if family in mutants}
    return families, {"held out": tuple(passes)} if passes else {}


def _family(operator: str) -> str:
    for family, operators in FAMILY_OPERATORS.items():
        if operator in operators:
            return family
    raise ValueError(f"operator must be one of {', '.join(chain.from_iterable(FAMILY_OPERATORS.values()))}")


def _mutants(file: MutantFile, table: MutantTable, operator: str) -> Iterator[Mutant]:
    for mutant in mutants_of_table(file, table, operator):
        if mutant.edits and operator not in TRAINING_OPTIMIZERS:
            raise ValueError(f"{operator} has no pseudo-code to edit")
        if mutant.edits:
            replace_pseudocode(TRAINING_OPTIMIZERS[operator].formula, mutant.edits)
        yield mutant


def _pass_mutant(table: _PassMutantTable) -> PassMutant:
    namespace = {**vars(eliminate_nop_monotone_argmax)}
    steps = {step: eval(text, namespace) for step, text in table.steps.items()}  # noqa: S307 - a trusted file
    return replace(replace_steps(table.id, table.text, **steps), level=table.level)
