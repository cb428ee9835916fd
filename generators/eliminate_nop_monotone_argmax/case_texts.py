"""Reader of the texts of cases: the files `*.txt` of this folder, with models in ONNX's text form, and tables.

Empty lines separate the paragraphs of a text. The first line of a paragraph says what it is.

- `# …`: a comment.
- `family NAME`: the family of the cases. Further lines are options and data of all cases. With `apart` after the name,
  the family has only the fragments and levels from before the first such family.
- `table NAME`: rows of cells, with `|` between the cells. The first row has the names of the columns.
- `factors NAME`: a table with the rows of a covering array. Lines `FACTOR: LEVELS` give its factors. With `alone` after
  the name, the rows of `_rows_around_first` have no pairs of levels; with `paired`, all of the first factor.
- `levels FACTOR`: a table whose first column has the levels of a factor, which is a column of other tables.
- `$NAME`: a fragment. `$NAME` stands for its lines in all paragraphs after it.
- `NAME: TITLE`: a case.

The second line of a case has the clauses, the effect of the pass, and options, with `; ` between them. The effect is
`stays`, `may change`, `may remove VALUES` or `removes VALUES`. The options are these:

- `each TABLES`: a case for each combination of the rows; `$COLUMN` is the cell of the row.
- `then VALUES`: values that further runs remove, up to a fixed point.
- `imports OPSETS`, `ir_version N`, `check NAME`, `level NAME`, `id PREFIX`.
- `annotate VALUES`: quantization annotations.
- `no data`, and `typed_fields`: the elements of initializers are not in `raw_data`.

Then follow lines `input NAME: DATA`, `initializer NAME: DATA`, `elements NAME: DATA`, which replaces the elements of an
initializer or Constant in the text, and `hazard KIND: DATA`. DATA is one of these:

- A tensor in ONNX's text form.
- `[reversed or flipped] NAME [times N] [plus N] [as TYPE]`: elements that `permuted_quarters` derives from the name. A
  type is given if the declaration of the value has no fixed sizes. `flipped` reverses the first axis, `reversed` all.
- `random NAME from LOW to HIGH …`: pseudo-random elements that use all bits of the type.

The other lines are the model: its signature, declarations of values, nodes, and functions. By default, the signature is
that of a matrix X and its `index`. `<<TABLES: TEXT>>` is the text for each combination of rows.
"""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain, dropwhile, product
from string import Template
from typing import TYPE_CHECKING

import numpy as np
from onnx import helper, parser

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import PassEffect, Rewrite
from conformance.corpus.factors.covering_array import covering_array
from conformance.corpus.factors.message_fields import add_quantization_annotations
from conformance.exact.models.arrays import array_of, dtype_of, tensor_of
from conformance.exact.models.graphs import all_graphs, all_nodes, all_tensors
from conformance.exact.models.model_building import IR_VERSION, pseudo_random_array
from generators.declarations.family import FamilyDeclaration
from generators.eliminate_nop_monotone_argmax.covering_arrays import TextRows
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    ALONG_AXIS,
    PASS_OPERATORS,
    ScenarioGraph,
    scenario,
)
from generators.generated_values import permuted_quarters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import onnx

    from conformance.corpus.cases.case import Case
    from conformance.corpus.factors.covering_array import Row
    from conformance.exact.models.arrays import Array

    Tables = Mapping[str, Sequence[Row]]
    ModelChange = Callable[[onnx.ModelProto], None]

INPUTS = "(float[2,3] X)"
OUTPUTS = "=> (int64[2] index)"
DATA = ("input ", "initializer ", "elements ", "hazard ")
"""Beginnings of the lines that give data."""
DERIVED = re.compile(
    r"(?P<random>random )?(?P<order>reversed |flipped )?(?P<name>.*?)(?: from (?P<low>\S+) to (?P<high>\S+))?"
    r"(?: times (?P<factor>\S+))?(?: plus (?P<term>\S+))?(?: as (?P<type>.*))?"
)
"""Data that are derived from a name."""

OPERATORS = [
    {
        "Op": op_type,
        "op": word,
        "node": f"{op_type} <axis = 1>" if op_type in ALONG_AXIS else op_type,
        "node_0": f"{op_type} <axis = 0>" if op_type in ALONG_AXIS else op_type,
        "parameter": "<axis>" if op_type in ALONG_AXIS else "",
    }
    for op_type, word in PASS_OPERATORS.items()
]
TABLES: Tables = {
    "five": OPERATORS,
    "elementwise": [row for row in OPERATORS if row["Op"] not in ALONG_AXIS],
    "normalizing": [row for row in OPERATORS if row["Op"] in ALONG_AXIS],
}
"""Tables of all texts: the operators that the pass removes, and those of them without and with an axis."""

FRAGMENTS = {
    "argmax": "ArgMax <axis = 1, keepdims = 0>",
    "argmax_0": "ArgMax <axis = 0, keepdims = 0>",
    "pair": "Y = $node (X)\nindex = $argmax (Y)",
    "plain": "else_branch = else () => (int64[2] plain) { plain = $argmax (X) }",
    "taken": "input taken: bool {1}\n(float[2,3] X, bool taken)",
    "yes": "yes = Constant <value = bool {1}> ()",
    "acme": '<domain: "acme", opset_import: ["": 13]>',
    "acme_calls": '<domain: "acme", opset_import: ["": 13, "acme": 1]>',
    "Op": "Exp",
    "op": "exp",
    "node": "Exp",
}
"""Fragments of all texts."""

EFFECTS = {
    "stays": PassEffect.DOES_NOT_APPLY,
    "may change": PassEffect.OPTIONAL,
    "may remove": PassEffect.OPTIONAL,
    "removes": PassEffect.APPLIES,
}


class _Tables(dict[str, "Sequence[Row]"]):
    """The tables of a text by name. The rows of covering arrays are computed on first use."""

    def __init__(self, arrays: Mapping[str, TextRows], *, around_first: bool) -> None:
        super().__init__(TABLES)
        self.arrays = dict(arrays)
        self.words: dict[str, Sequence[str]] = {}
        self._around_first = around_first

    def __missing__(self, table: str) -> Sequence[Row]:
        array = self.arrays[table]
        factors = array.declaration.factors
        paired = PAIRED_LEVELS[" ".join(self.words.get(table, ()))]
        rows = _rows_around_first(factors, paired) if self._around_first else array.declaration.rows
        self[table] = [{"number": f"{number:03}", **array.columns(row), **row} for number, row in enumerate(rows, 1)]
        return self[table]


@dataclass(frozen=True)
class CaseTemplate:
    """A paragraph of cases, with what the paragraphs before it declare.

    Attributes:
        family: the family of the cases.
        content: the lines, with the options and the data of the family.
        words: the fragments by name.
        levels: by factor and level, the cells of the row of `levels`.
        tables: the tables of the text.
    """

    family: str
    content: str
    words: Mapping[str, str]
    levels: Mapping[str, Mapping[str, Row]]
    tables: _Tables

    @property
    def table_names(self) -> list[str]:
        """The tables of which each combination of rows has a case."""
        each = re.search(r"; each ([\w ]+)", self.content.splitlines()[1])
        return each[1].split() if each else []

    @property
    def is_paired(self) -> bool:
        """Whether the cases have all pairs of levels of these tables."""
        return any("paired" in self.tables.words.get(table, ()) for table in self.table_names)

    @property
    def factors(self) -> dict[str, Sequence[str]]:
        """The levels of the factors of these tables."""
        arrays = [self.tables.arrays[table] for table in self.table_names if table in self.tables.arrays]
        return {factor: levels for array in arrays for factor, levels in array.declaration.factors.items()}

    def cases(self, changes: Mapping[str, ModelChange] | None = None) -> Iterator[tuple[Row, Case]]:
        """Yield the rows of the tables with their cases. The argument is that of `read_cases`."""
        for row in _combined_rows(" ".join(self.table_names), self.tables):
            yield row, self.case(row, changes or {})

    def case(self, row: Row, changes: Mapping[str, ModelChange], replaced: Mapping[str, str] | None = None) -> Case:
        """Return the case of a row.

        Args:
            row: the cells of one row of each table.
            changes: functions that change the model, by the name or a tag of the case.
            replaced: texts that replace others in the lines of the case.
        """
        words = {**self.words, "family": self.family, **row}
        for factor in [factor for factor in row if factor in self.levels]:
            words |= self.levels[factor].get(row[factor], {})
        words["name"] = _expand(self.content.partition(": ")[0], words, self.tables)
        tags = [f"{factor}={row[factor]}" for factor in self.factors]
        modify = [changes[key] for key in (words["name"], *tags) if key in changes]
        text = _expand(self.content, words, self.tables)
        for old, new in (replaced or {}).items():
            text = text.replace(old, new)
        case = _case(self.family, text, modify)
        return replace(case, tags=(*case.tags, *tags))


def read_templates(
    path: Path, arrays: Mapping[str, TextRows] | None = None, beginning: str = "", *, around_first: bool = False
) -> Iterator[CaseTemplate]:
    """Yield the paragraphs of cases of a text. The arguments are those of `read_cases`."""
    fragments = dict(FRAGMENTS)
    tables = _Tables(arrays or {}, around_first=around_first)
    levels: dict[str, dict[str, dict[str, str]]] = {}
    shared: tuple[dict[str, str], dict[str, dict[str, dict[str, str]]]] | None = None
    family = ""
    options = ""
    data: list[str] = []
    for paragraph in re.split(r"\n\s*\n", beginning + path.read_text(encoding="utf-8")):
        lines = [line.strip() for line in paragraph.strip().splitlines() if not line.startswith("#")]
        match lines[0].split() if lines else []:
            case []:
                continue
            case ["family", family, *words]:
                if words == ["apart"]:
                    if shared is None:
                        shared = (fragments, levels)
                    fragments = dict(shared[0])
                    levels = deepcopy(shared[1])
                data = [line for line in lines[1:] if line.startswith(DATA)]
                options = "".join(f"; {line}" for line in lines[1:] if line not in data)
            case ["table", table]:
                tables[table] = list(_rows(lines[1:]))
            case ["levels", factor]:
                for row in _rows(lines[1:]):
                    levels.setdefault(factor, {}).setdefault(row[factor], {}).update(row)
            case ["factors", table, *words]:
                tables.words[table] = words
                pairs = (line.split(": ") for line in lines[1:])
                declaration = FamilyDeclaration({factor: tuple(given.split(", ")) for factor, given in pairs})
                tables.pop(table, None)
                tables.arrays[table] = TextRows(declaration)
            case [fragment] if fragment.startswith("$"):
                fragments[fragment[1:]] = "\n".join(lines[1:])
            case _:
                content = "\n".join([lines[0], lines[1] + options, *data, *lines[2:]])
                yield CaseTemplate(family, content, dict(fragments), deepcopy(levels), tables)


def read_cases(
    path: Path,
    changes: Mapping[str, ModelChange] | None = None,
    arrays: Mapping[str, TextRows] | None = None,
    beginning: str = "",
    *,
    around_first: bool = False,
) -> Iterator[Case]:
    """Yield the cases of a text.

    Args:
        path: path of the text.
        changes: functions that change the model of a case before it is serialised, by the name or a tag of the case.
        arrays: rows of covering arrays, which are tables with these names. The column `number` has the number of the
            row. A case has the levels of its row as tags.
        beginning: paragraphs that come before those of the text.
        around_first: whether a table of factors has the rows of `_rows_around_first`.
    """
    for template in read_templates(path, arrays, beginning, around_first=around_first):
        yield from (case for _, case in template.cases(changes))


CONDITION = "condition"
"""The factor whose levels, besides the first, make a rewrite wrong whatever the other levels are."""

PAIRED_LEVELS = {"alone": 0, "": 2, "paired": None}
"""By the word of a table: the number of levels of a factor, from the first one, that are in pairs; None for all."""

VALUES = "values"
"""The factor of the elements of the inputs. The first are ordinary: they leave no result undetermined."""


def _rows_around_first(factors: Mapping[str, Sequence[str]], paired_levels: int | None) -> list[Row]:
    """Return rows in which at most one factor has another level than its first, and rows with pairs of levels.

    The rows with one other level come first, and the others add the pairs that are missing. These pairs have the first
    condition, because a right rewrite leaves a model with another condition alone. They have the first values too. Each
    level of the first other factor is with all values.

    Args:
        factors: the levels of each factor.
        paired_levels: number of levels of a factor that are in pairs; None for all pairs of the first factor, each in
            a row in which the other factors have their first levels.
    """
    first = {factor: levels[0] for factor, levels in factors.items()}
    fits = {factor: levels for factor, levels in factors.items() if factor not in (CONDITION, VALUES)}
    main = next(iter(fits))
    alone = [{**first, factor: level} for factor, levels in fits.items() for level in levels]
    paired = {factor: levels[:paired_levels] for factor, levels in fits.items()}
    known = [{each: row[each] for each in fits} for row in alone if all(row[each] in paired[each] for each in fits)]
    if paired_levels is None:
        others = [{factor: level} for factor in [*fits][1:] for level in fits[factor]]
        pairs: Iterable[Row] = [{main: level, **other} for level in fits[main] for other in others]
    else:
        pairs = covering_array(FamilyDeclaration(paired), known) if paired_levels else ()
    rows = [
        *alone,
        *({**first, VALUES: each, main: level} for each in factors.get(VALUES, ()) for level in fits[main]),
        *({**first, CONDITION: each} for each in factors.get(CONDITION, ())),
        *({**first, **row} for row in pairs),
    ]
    return [dict(levels) for levels in dict.fromkeys(tuple(row.items()) for row in rows)]


def _rows(lines: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of a table with their cells by column."""
    columns, *rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    for row in rows:
        yield dict(zip(columns, row, strict=True))


def _combined_rows(names: str, tables: Tables) -> Iterator[Row]:
    """Yield the combinations of the rows of tables."""
    for rows in product(*(tables[name] for name in names.split())):
        yield dict(chain.from_iterable(row.items() for row in rows))


def _expand(text: str, words: Mapping[str, str], tables: Tables) -> str:
    """Replace the names of fragments and columns, and repeat texts for the rows of tables."""

    def repeated(found: re.Match[str]) -> str:
        separator = ", " if found[1] is None else "\n"
        return separator.join(Template(found[3]).safe_substitute(row) for row in _combined_rows(found[2], tables))

    while "$" in text or "<<" in text:
        text = re.sub(r"(^)?<<([\w ]+): (.*?)>>", repeated, text, flags=re.MULTILINE | re.DOTALL)
        text = Template(text).substitute(words)
    return text


def _case(family: str, text: str, changes: Sequence[ModelChange]) -> Case:
    """Return the case of a paragraph in which all names are replaced."""
    first, settings, *lines = filter(None, text.splitlines())
    name, title = first.split(": ", 1)
    clauses, effect, *others = settings.split("; ")
    options = {word: value for word, _, value in (other.partition(" ") for other in others)}
    model = _model([line for line in lines if not line.startswith(DATA)], options)
    arrays: dict[str, dict[str, Array]] = {"input": {}, "initializer": {}, "elements": {}, "hazard": {}}
    for line in lines:
        if line.startswith(DATA):
            declared, _, given = line.partition(": ")
            role, _, value = declared.partition(" ")
            arrays[role][value] = _array(given, value, model.graph)
    for tensor, value in _named_tensors(model):
        if value in arrays["elements"]:
            tensor.CopyFrom(tensor_of(arrays["elements"][value], tensor.name))
    opsets = {entry.domain: entry.version for entry in sorted(model.opset_import, key=lambda entry: entry.version)}

    def modify(changed: onnx.ModelProto) -> None:
        del changed.opset_import[:]
        changed.opset_import.extend(model.opset_import)  # a domain can have several imports
        names = options.get("annotate", "").split(", ")
        if names[0]:
            graphs = [graph for graph in all_graphs(changed) if any(names[0] in node.output for node in graph.node)]
            add_quantization_annotations(graphs[0] if graphs else changed.graph, *names)
        if "typed_fields" in options:
            for tensor in changed.graph.initializer:
                elements = array_of(tensor)
                tensor.CopyFrom(helper.make_tensor(tensor.name, tensor.data_type, tensor.dims, elements.reshape(-1)))
        for change in changes:
            change(changed)

    constants = {tensor.name: array_of(tensor) for tensor in model.graph.initializer} | arrays["initializer"]
    case = scenario(
        family,
        name,
        title,
        clauses.split(", "),
        _rewrite(effect, options.get("then", "")),
        ScenarioGraph(
            model.graph.node,
            [arrays["input"][value.name] for value in model.graph.input if value.name in arrays["input"]],
            model.graph.input,
            model.graph.output,
            opsets,
            constants,
            model.functions,
            value_info=model.graph.value_info,
            ir_version=model.ir_version,
        ),
        modify=modify,
        hazards=[(kind, [array]) for kind, array in arrays["hazard"].items()],
        level=Level(options.get("level", Level.MUST)),
        check=options.get("check", "structure"),
        prefix=options.get("id"),
    )
    return replace(case, data_sets=()) if "no" in options else case


def _rewrite(effect: str, then: str) -> Rewrite:
    """Return the effect of the pass that is written in words."""
    words = next(words for words in EFFECTS if effect.startswith(words))
    once = tuple(filter(None, effect.removeprefix(words).strip().split(", ")))
    return Rewrite(EFFECTS[words], once, (*once, *filter(None, then.split(", "))))


def _model(lines: Sequence[str], options: Mapping[str, str]) -> onnx.ModelProto:
    """Return a model with the fields that `onnx.helper` sets, and with elements in `raw_data`."""
    functions = list(dropwhile(lambda line: not line.startswith("<domain"), lines))
    nodes = list(lines[: len(lines) - len(functions)])
    signature = ""
    while nodes and (nodes[0].startswith(("(", "=>", "<")) or signature.count("(") > signature.count(")")):
        signature += nodes.pop(0) + "\n"
    signature = signature if signature.startswith("(") else INPUTS + signature
    if "=>" not in signature:
        inputs, mark, declarations = signature.partition("<")
        signature = inputs + OUTPUTS + mark + declarations
    imports = options.get("imports", '"": 13, "acme": 1' if functions else '"": 13')
    header = f"<ir_version: {options.get('ir_version', IR_VERSION)}, opset_import: [{imports}]>"
    model = parser.parse_model("\n".join([header, "graph", signature, "{", *nodes, "}", *functions]))
    for node in all_nodes(model):
        if not node.domain:
            node.ClearField("domain")
    for tensor in all_tensors(model):
        name = tensor.name
        tensor.CopyFrom(tensor_of(array_of(tensor)))
        if name:
            tensor.name = name
    return model


def _named_tensors(model: onnx.ModelProto) -> Iterator[tuple[onnx.TensorProto, str]]:
    """Yield the tensors of initializers and Constants, with the name of the value."""
    for graph in all_graphs(model):
        yield from ((tensor, tensor.name) for tensor in graph.initializer)
    for node in all_nodes(model):
        if node.op_type == "Constant":
            yield node.attribute[0].t, node.output[0]


def _tensor(text: str) -> Array:
    """Return the tensor of a text in ONNX's form. Elements can also be `nan` and `inf`, which ONNX's parser lacks."""
    elements = text[text.index("{") + 1 : text.rindex("}")].split(",")
    special = [element.strip().lstrip("-") in ("nan", "inf") for element in elements]
    finite = ["0" if is_special else element for element, is_special in zip(elements, special, strict=True)]
    type = text[: text.index("{")]
    parsed = re.sub("^float16", "float", type)  # onnx's parser reads integers for float16
    node = parser.parse_node(f"value = Constant <value = {parsed} {{{','.join(finite)}}}> ()")
    array = array_of(node.attribute[0].t).copy()
    if parsed != type:
        with np.errstate(over="ignore"):
            array = array.astype(np.float16)
    for place in np.flatnonzero(special):
        array.flat[place] = float(elements[place])
    return array


def _array(text: str, name: str, graph: onnx.GraphProto) -> Array:
    """Return the array of a line of data: a tensor, or elements that are derived from a name."""
    if "{" in text:
        return _tensor(text)
    derived = DERIVED.fullmatch(text)
    assert derived is not None
    if derived["type"]:
        (declared,) = parser.parse_graph(f"typed ({derived['type']} value) => () {{}}").input
    else:
        declared = next(value for value in (*graph.input, *graph.value_info) if value.name == name)
    tensor = declared.type.tensor_type
    dtype = dtype_of(tensor.elem_type)
    shape = [dim.dim_value for dim in tensor.shape.dim]
    if derived["random"]:
        array = pseudo_random_array(derived["name"], shape, dtype, float(derived["low"]), float(derived["high"]))
    else:
        array = permuted_quarters(derived["name"], shape, dtype)
    if derived["order"]:
        array = np.flip(array, None if derived["order"] == "reversed " else 0).copy()
    return np.asarray(array * dtype.type(derived["factor"] or 1) + dtype.type(derived["term"] or 0))
