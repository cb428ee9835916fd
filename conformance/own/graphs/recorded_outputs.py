"""Values of a model that were recorded elsewhere: onnx's test data, .npz files, and the JSON of polygraphy."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import onnx

from conformance.base.errors import UsageError
from conformance.base.files.atomic_write import open_zip
from conformance.exact.models.encoded_messages import decode_message
from conformance.exact.models.input_files import DeclaredInput
from conformance.own.graphs.model_inputs import (
    NO_POLYGRAPHY,
    data_set_folders,
    file_errors,
    read_array,
    read_encoded_arrays,
    read_file,
    read_named_arrays,
    read_polygraphy,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from conformance.exact.models.arrays import Value

_NUMBERED = re.compile(r"output_(\d+)\.(pb|npy)$")


@dataclass(frozen=True)
class DeviceRun:
    """The values of one run of a model.

    Attributes:
        subject: the name of the runtime or device, as far as it is known.
        name: the file or folder.
        values: the values by name: outputs, and intermediate values if they were recorded.
        unknown: names that the model has no value of.
    """

    subject: str
    name: str
    values: Mapping[str, Value]
    unknown: tuple[str, ...] = ()


def read_recorded(path: Path, model: onnx.ModelProto) -> list[list[DeviceRun]]:
    """Return the recorded values of a file or folder: for each subject, the values of each data set.

    Args:
        path: a folder of `output_N.pb` or `output_N.npy`, a folder of folders `test_data_set_N`, an .npz file, or a
            JSON file of polygraphy.
        model: the model, with inferred types.

    Raises:
        UsageError: the path has no values of the model, or a value does not fit the model.
    """
    declared = _declared_values(model)
    if path.is_dir():
        outputs = [value.name for value in model.graph.output]
        found = [[_read_folder(path, folder, declared, outputs) for folder in data_set_folders(path)]]
    elif path.suffix == ".json":
        found = list(_read_runs(path, declared))
    else:
        content = read_file(path)
        with file_errors(path), open_zip(io.BytesIO(content)) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
        known = [declared[name] for name in names if name in declared]
        arrays = read_named_arrays(path, known)
        values = dict(zip((each.name for each in known), arrays, strict=True))
        found = [[DeviceRun("recorded", str(path), values, tuple(sorted({*names} - {*declared})))]]
    if not found or not all(found):
        raise UsageError("recorded-missing", path=path, names="no run")
    for each in (one for subject in found for one in subject):
        if not each.values:
            raise UsageError("recorded-missing", path=each.name, names=", ".join(each.unknown[:8]) or "no values")
    return found


def input_folder(path: Path, recorded: Sequence[Sequence[DeviceRun]]) -> Path:
    """Return the folder of recorded values, which has the inputs too, as onnx's test data.

    Raises:
        UsageError: it is a file.
    """
    if not path.is_dir():
        raise UsageError("recorded-inputs", path=path, count=len(recorded[0]))
    return path


def _declared_values(model: onnx.ModelProto) -> dict[str, DeclaredInput]:
    """Return the declaration of each value that a node computes; its type and shape are open if they are unknown."""
    typed = {value.name: value for value in (*model.graph.value_info, *model.graph.output)}
    names = (name for node in model.graph.node for name in node.output if name)
    return {name: DeclaredInput.of(typed[name]) if name in typed else DeclaredInput(name, None, None) for name in names}


def _read_folder(root: Path, folder: Path, declared: Mapping[str, DeclaredInput], outputs: Sequence[str]) -> DeviceRun:
    """Read the files of a folder; a tensor is that of its own name, or of the output with its number."""
    values: dict[str, Value] = {}
    unknown = []
    for file in sorted(folder.iterdir()):
        match = _NUMBERED.match(file.name)
        if match is None:
            continue
        number = int(match[1])
        name = outputs[number] if number < len(outputs) else ""
        if match[2] == "pb" and (name not in declared or declared[name].type is None):
            named = _tensor_name(file, root)
            name = named if named in declared else name
        if name in declared:
            values[name] = read_array(file, declared[name], root)
        else:
            unknown.append(file.name)
    return DeviceRun("recorded", str(folder), values, tuple(unknown))


def _tensor_name(file: Path, root: Path) -> str:
    content = read_file(file, root)
    with file_errors(file):
        return str(decode_message(content, onnx.TensorProto).name)


def _read_runs(path: Path, declared: Mapping[str, DeclaredInput]) -> Iterator[list[DeviceRun]]:
    """Yield the values of each runner in a JSON file of polygraphy, for each of its iterations."""
    document = read_polygraphy(path)
    with file_errors(path):
        runners: Any = document["lst"]
        for runner, iterations in runners:
            yield [_read_iteration(path, str(runner), each["outputs"], declared) for each in iterations]


def _read_iteration(path: Path, runner: str, outputs: Any, declared: Mapping[str, DeclaredInput]) -> DeviceRun:
    if not isinstance(outputs, dict):
        raise ValueError(NO_POLYGRAPHY)  # noqa: TRY004 - the file is wrong
    known = [declared[name] for name in outputs if name in declared]
    arrays = read_encoded_arrays(path, outputs, known)
    values = dict(zip((each.name for each in known), arrays, strict=True))
    return DeviceRun(runner, str(path), values, tuple(sorted({*outputs} - {*declared})))
