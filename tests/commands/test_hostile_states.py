"""A state that somebody else wrote: every verb that continues a state ends with status 2 at once."""

from __future__ import annotations

import json
import resource
import shutil
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import onnx
import pytest
from corpora import ADAM
from hostile_states import HOSTILE_KINDS
from history_stores import add_release, write_three_cases
from command_outputs import read_tree
from fake_backends import AlwaysRight
from refusals import assert_bad_input

from conformance.history.store import HistoryStore
from conformance.run.resume import partial_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MAX_SECONDS = 5.0
"""Time for a refusal, also on a busy machine; most of it is the start of the command."""

MAX_MEMORY = 2**30
"""Memory for a refusal, besides that of this process."""


@dataclass(frozen=True)
class Verb:
    """A verb that continues a state.

    Attributes:
        words: the command; {corpus} is a corpus.
        state: the state, a file or a folder.
        file: the file in the state that is damaged.
        prepares: whether the command writes the state when it is called once.
    """

    words: str
    state: str
    file: str
    code: str


COUNT = "census -b reference --operator Sqrt --type float16 --no-isolation --resume kept"
SEARCH = "search -b fake_backends:AlwaysUnsupported --examples 1 --no-isolation --resume kept"
AUDIT = "audit model.onnx -b reference --no-isolation --resume kept"
RUN = f"run -b fake_backends:AlwaysRight --no-isolation --data {{corpus}} --case {ADAM}"
BLAME = "blame model.onnx -b reference -b fake_backends:AlwaysRight --no-isolation"
SHOW = "history show onnxruntime --store kept"
UPDATE = "history update onnxruntime --offline --data {corpus} --store kept"

VERBS = {
    "census": Verb(COUNT, "kept"),
}
