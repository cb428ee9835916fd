"""Comparisons of bounded numbers, which are those of their exact values."""

from __future__ import annotations

from decimal import Decimal


class Compared:
    """What has a value is compared by it, with its like and with integers."""

    __slots__ = ()

    value: Decimal

    def __gt__(self, other: Compared | int) -> bool:
        return self.value > _value(other)

    def __ge__(self, other: Compared | int) -> bool:
        return self.value >= _value(other)

    def __lt__(self, other: Compared | int) -> bool:
        return self.value < _value(other)

    def __le__(self, other: Compared | int) -> bool:
        return self.value <= _value(other)


def _value(number: Compared | int) -> Decimal:
    return number.value if isinstance(number, Compared) else Decimal(number)
