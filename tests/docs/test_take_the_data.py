"""docs/how-to/take-the-data.md: the recipes for CMake, cargo and npm, with the files of a release on a local server."""

from __future__ import annotations

import functools
import hashlib
import http.server
import shutil
import subprocess
import threading

import pytest
from corpora import write_part
from documentation import DOCS, read_page
from script_modules import script_module

pytestmark = [pytest.mark.programs, pytest.mark.long]

PAGE = read_page(DOCS / "how-to" / "take-the-data.md")
RECIPES = {
    "cmake": (
        ["CMakeLists.txt"],
        "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure",
    ),
    "cargo": (["build.rs", "tests/conformance.rs"], "cargo test --offline"),
    "npm": (["package.json", "take-corpus.mjs", "conformance.test.mjs"], "npm test"),
}
CARGO = '[package]\nname = "conformance"\nversion = "0.0.0"\nedition = "2021"\n'


class Server(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Print nothing."""


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """Return the address of a server with the archive of a part of the corpus, its hash and its number of cases."""
    folder = tmp_path_factory.mktemp("release")
    corpus = write_part(folder / "corpus", lambda place, _: place % 300 == 0)
    (folder / "files").mkdir()
    sums = script_module("release").write_corpus_archive(corpus, folder / "files")
    handler = functools.partial(Server, directory=str(folder / "files"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}"
        yield address, sums["corpus-2.0.0.tar.zst"], len(list(corpus.glob("*/test_*"))), folder / "files"
        server.shutdown()
        thread.join()


def follow(tool, folder, replaced):
    """Write the files of a recipe into a folder, and run its command; return the exit status and the output."""
    if shutil.which(tool) is None:
        pytest.skip(f"needs {tool}")
    names, command = RECIPES[tool]
    for name in names:
        text = PAGE.files[name]
        for old, new in replaced.items():
            text = text.replace(old, str(new))
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text)
    if tool == "cargo":
        (folder / "src").mkdir(exist_ok=True)
        (folder / "src" / "lib.rs").write_text("")
        (folder / "Cargo.toml").write_text(CARGO)
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def candidates(release, folder):
    """Write the expected outputs of the archive as candidates; without them, the judge passes no case."""
    (archive,) = release[3].iterdir()
    subprocess.run(["tar", "--zstd", "-xf", archive, "-C", folder], check=True)
    (folder / "corpus-2.0.0").rename(folder / "candidates")


@pytest.mark.parametrize("tool", RECIPES)
def test_recipe_takes_the_cases_and_refuses_too_few_and_another_hash(tool, release, tmp_path):
    address, hash, cases, _ = release
    judged = cases
    if tool == "cmake":
        candidates(release, tmp_path)
        judged = len(list((tmp_path / "candidates").glob("*/*/test_data_set_0/output_0.pb")))
    replaced = {"ADDRESS": address, "DIGEST": hash}
    status, output = follow(tool, tmp_path, {**replaced, "3000": judged})
    assert status == 0, output
    assert follow(tool, tmp_path, {**replaced, "3000": judged + 1})[0] != 0
    shutil.rmtree(tmp_path / "build", ignore_errors=True)
    assert follow(tool, tmp_path, {**replaced, "DIGEST": hashlib.sha256().hexdigest(), "3000": judged})[0] != 0
