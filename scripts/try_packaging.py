"""Try what a release has beside the package: the conda recipe, the Dockerfile of the scoreboard, and the GitHub action.

python scripts/try_packaging.py RELEASE WORK

RELEASE is the folder of `nox -s release`, and WORK a new folder for what the trials install. The trials need pip alone:
rattler-build builds the recipe, and runs its tests, with a channel of the packages that pip installs; the steps of the
Dockerfile and of the action run in fresh virtual environments.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
import zstandard
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parent.parent
SUITE = "onnx-conformance"
SELECTION = "--operator Momentum"
"""Option of the runs of the trials, so that they take seconds."""

CONDA_NAMES = {"ml-dtypes": "ml_dtypes"}
"""Names of packages that conda-forge spells in another way than PyPI."""

CONDA_PLATFORMS = {
    ("Linux", "x86_64"): "linux-64",
    ("Linux", "aarch64"): "linux-aarch64",
    ("Darwin", "arm64"): "osx-arm64",
    ("Darwin", "x86_64"): "osx-64",
}


def create_environment(folder: Path, *requirements: str | Path) -> Path:
    """Create a virtual environment with pip and packages, and return the folder of its programs."""
    venv.create(folder, with_pip=True, clear=True)
    if requirements:
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, *map(str, requirements)], check=True)
    return folder / "bin"


def run_shell(script: str, bin: Path, folder: Path, variables: Mapping[str, str]) -> None:
    """Run a script of bash with the programs of an environment; end the trial if the script fails."""
    path = f"{bin}{os.pathsep}{os.environ['PATH']}"
    settings = {**os.environ, "PATH": path, **variables}
    subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], cwd=folder, env=settings, check=True)


def require_files(*files: Path) -> None:
    """End the trial if a file is missing or empty."""
    for file in files:
        if not file.is_file() or not file.stat().st_size:
            sys.exit(f"{file} is missing or empty.")


# ---- The Dockerfile of the scoreboard.


def dockerfile_instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile, such as `("RUN", "pip install …")`."""
    lines = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    parts = (line.partition(" ") for line in lines if line.strip())
    return [(word, rest.strip()) for word, _, rest in parts]


def try_dockerfile(release: Path, work: Path) -> None:
    """Run the steps of the Dockerfile with the wheel of the release, on the reference of the suite."""
    (wheel,) = release.glob("*.whl")
    results = work / "results"
    given = {"SUITE": str(wheel), "PACKAGES": "", "OPTIONS": SELECTION, "RESULTS_DIR": str(results)}
    given["ONNX_BACKEND"] = "conformance.subjects.adapters.reference:ReferenceBackend"
    bin = create_environment(work / "environment")
    variables: dict[str, str] = {}
    for word, rest in dockerfile_instructions((ROOT / "packaging" / "scoreboard" / "Dockerfile").read_text("utf-8")):
        if word in {"ARG", "ENV"}:
            name, _, value = rest.partition("=")
            variables[name] = given.pop(name, "".join(shlex.split(value)))
        elif word in {"RUN", "CMD"}:
            run_shell(rest, bin, work, variables)
        elif word != "FROM":
            sys.exit(f"The trial does not know the instruction {word} of the Dockerfile.")
    if given:
        sys.exit(f"The Dockerfile has no {min(given)}.")
    require_files(*(results / f"conformance.{ending}" for ending in ("jsonl", "html", "json", "svg")))


# ---- The GitHub action.


def try_action(work: Path) -> None:
    """Run the steps of the action that are scripts, in order, as GitHub does, with a Python of the job of its own."""
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    given = {"backend": "reference", "args": SELECTION}
    values = {f"inputs.{name}": str(given.get(name, entry["default"])) for name, entry in action["inputs"].items()}
    values |= {"github.action_path": str(ROOT), "runner.temp": str(work / "temp")}
    bin = create_environment(work / "job")
    outputs = {name: work / name.lower() for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    for step in action["runs"]["steps"]:
        if "run" in step:
            set_by_step = {
                name: re.sub(r"\$\{\{ (.*?) \}\}", lambda match: values[match[1]], text)
                for name, text in step["env"].items()
            }
            run_shell(step["run"], bin, work, {**set_by_step, **{name: str(file) for name, file in outputs.items()}})
    if "status=0\n" not in outputs["GITHUB_OUTPUT"].read_text("utf-8"):
        sys.exit("The action does not report that the run passes.")
    folder = work / values["inputs.output"]
    require_files(outputs["GITHUB_STEP_SUMMARY"], folder / "index.html", folder / "results.jsonl")


# ---- The conda recipe.


def write_conda_package(channel: Path, record: dict[str, object], contents: Mapping[str, bytes | Path]) -> dict:
    """Write a conda package into a channel; return its entry in the index of the channel.

    Args:
        channel: the folder of the channel for this platform.
        record: name, version and dependencies.
        contents: the content of each file, or the target of a symbolic link, by path.
    """
    record = {**record, "build": "0", "build_number": 0, "subdir": channel.name}
    name = f"{record['name']}-{record['version']}-0"
    paths = [
        {"_path": path, "path_type": "softlink" if isinstance(content, Path) else "hardlink"}
        | ({} if isinstance(content, Path) else {"sha256": _hash(content), "size_in_bytes": len(content)})
        for path, content in contents.items()
    ]
    info = {
        "info/index.json": json.dumps(record).encode(),
        "info/paths.json": json.dumps({"paths": paths, "paths_version": 1}).encode(),
    }
    file = channel / f"{name}.conda"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("metadata.json", '{"conda_pkg_format_version": 2}')
        archive.writestr(f"pkg-{name}.tar.zst", _packed_tar(contents))
        archive.writestr(f"info-{name}.tar.zst", _packed_tar(info))
    content = file.read_bytes()
    return {**record, "sha256": _hash(content), "size": len(content)}


def _packed_tar(contents: Mapping[str, bytes | Path]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for path, content in contents.items():
            member = tarfile.TarInfo(path)
            member.mode = 0o755
            if isinstance(content, Path):
                member.type, member.linkname = tarfile.SYMTYPE, str(content)
                archive.addfile(member)
            else:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return zstandard.ZstdCompressor(level=1).compress(stream.getvalue())


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def conda_name(name: str) -> str:
    """Return the name in conda-forge of a package of PyPI."""
    plain = canonicalize_name(name)
    return CONDA_NAMES.get(plain, plain)


def dependencies(distribution: Distribution) -> list[str]:
    """Return the names in conda-forge of what a distribution needs on this platform."""
    parsed = map(Requirement, distribution.requires or ())
    needed = {conda_name(each.name) for each in parsed if not each.marker or each.marker.evaluate({"extra": ""})}
    return ["python", *sorted(needed)]


def write_channel(channel: Path, environment: Path) -> None:
    """Write a conda channel of the packages of a virtual environment, and of a python that is a link to this one."""
    subdir = CONDA_PLATFORMS[platform.system(), platform.machine()]
    for name in (subdir, "noarch"):
        (channel / name).mkdir(parents=True)
    version = platform.python_version()
    short = ".".join(version.split(".")[:2])
    base = Path(sys.base_prefix, "bin", f"python{short}")
    contents: dict[str, bytes | Path] = {f"bin/{name}": base for name in ("python", "python3", f"python{short}")}
    contents["pyvenv.cfg"] = f"home = {base.parent}\nversion = {version}\n".encode()
    record: dict[str, object] = {"name": "python", "version": version, "depends": []}
    index = {f"python-{version}-0.conda": write_conda_package(channel / subdir, record, contents)}
    site = f"lib/python{short}/site-packages"
    for distribution in distributions(path=[str(environment / site)]):
        if distribution.name != SUITE:
            inside = [file for file in distribution.files or () if file.parts[0] != ".." and file.suffix != ".pyc"]
            contents = {f"{site}/{file}": Path(distribution.locate_file(file)).read_bytes() for file in inside}
            record = {
                "name": conda_name(distribution.name),
                "version": distribution.version,
                "depends": dependencies(distribution),
            }
            entry = write_conda_package(channel / subdir, record, contents)
            index[f"{entry['name']}-{entry['version']}-0.conda"] = entry
    for name, packages in ((subdir, index), ("noarch", {})):
        document = {"info": {"subdir": name}, "packages": {}, "packages.conda": packages, "repodata_version": 1}
        (channel / name / "repodata.json").write_text(json.dumps(document), encoding="utf-8")


def try_recipe(release: Path, work: Path) -> None:
    """Build the recipe of the release, which installs the package, and run its tests."""
    from rattler_build import Package, Stage0Recipe

    (wheel,) = release.glob("*.whl")
    channel = work / "channel"
    create_environment(work / "environment", wheel, "hatchling", "pip")
    write_channel(channel, work / "environment")
    (variant,) = Stage0Recipe.from_file(release / "recipe.yaml").render()
    built = variant.run_build(output_dir=work / "output", channels=[channel.as_uri()])
    (package,) = built.packages
    tests = Package.from_file(package).run_tests(channel=[channel.as_uri()])
    failed = [test for test in tests if not test.success]
    if failed or len(tests) != len(yaml.safe_load((release / "recipe.yaml").read_text("utf-8"))["tests"]):
        sys.exit(f"{len(failed)} of {len(tests)} tests of the recipe fail.\n" + "\n".join(map(str, failed)))


def main() -> None:
    """Try all parts."""
    release, work = (Path(word).resolve() for word in sys.argv[1:])
    for name, trial in {
        "recipe": lambda folder: try_recipe(release, folder),
        "Dockerfile": lambda folder: try_dockerfile(release, folder),
        "action": try_action,
    }.items():
        folder = work / name
        folder.mkdir(parents=True)
        trial(folder)
        print(f"ok   {name}")


if __name__ == "__main__":
    main()
