"""Quick checks of many values in one test, which saves the collection and the report of a test for each value."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def for_each(argument: str, values: Iterable[Any], id_of: Callable[[Any], object] = str) -> Callable[..., Any]:
    """Call a test with each value of an argument; it fails with the ids and the errors of all values that fail.

    A test that takes more than a few milliseconds is better parametrized, so that its values run in several processes.
    """
    values = list(values)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def run(*instance: Any, **fixtures: Any) -> None:
            assert values
            failures = []
            for value in values:
                try:
                    test(*instance, **fixtures, **{argument: value})
                except Exception as error:  # noqa: BLE001 - each is reported
                    failures.append(f"{id_of(value)}: {type(error).__name__}: {error}")
            assert not failures, f"{len(failures)} of {len(values)} values fail\n" + "\n".join(failures)

        rest = [parameter for name, parameter in signature.parameters.items() if name != argument]
        run.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return run

    return decorate
