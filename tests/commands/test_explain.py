"""`explain`: a case in full."""

from __future__ import annotations

import pytest
from corpora import ADAM, EXACT, INDEX, REPEATED
from refusals import assert_bad_input


class TestExplain:
    def test_it_tells_the_clauses_the_model_and_the_data(self, command, small_corpus):
        ended = command("explain", REPEATED, "--data", small_corpus)
        assert ended.status == 0
        for part in ("level must", "clause adagrad.pure", "Adagrad(R, T, X, G, H)", "decay_factor = 0.5", "data set 2"):
            assert part in ended.out

    @pytest.mark.parametrize(
        ("case", "check"), [(ADAM, "each within"), (EXACT, "bit for bit"), (INDEX, "acceptable: 1 or 3")]
    )
    def test_it_tells_how_an_output_is_checked(self, command, small_corpus, case, check):
        assert check in command("explain", case, "--data", small_corpus).out

    def test_an_unknown_case_is_refused(self, command, small_corpus):
        assert_bad_input(command("explain", "test_adan", "--data", small_corpus), "There is no case test_adan")
