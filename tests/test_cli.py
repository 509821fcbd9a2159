"""The command line: what it prints and writes, and how it refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from matplotlib.image import imread
from typer.testing import CliRunner

import advmdp
from advmdp.cli import COMMANDS, app, main

IMITATE_A_TERMINAL = ("FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS")
# Programs started elsewhere find the package that is tested here, installed or not.
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name not in IMITATE_A_TERMINAL},
    "PYTHONPATH": str(Path(advmdp.__file__).parents[1]),
}
SMALL = ("demo", "--episodes", "3000", "--layers", "1,3,3,1", "--actions", "2")


@pytest.fixture(autouse=True)
def _away_from_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in IMITATE_A_TERMINAL:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def small_demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The output of one small demo as a program of its own, and its figure."""
    folder = tmp_path_factory.mktemp("demo")
    finished = subprocess.run(
        [sys.executable, "-m", "advmdp.cli", *SMALL],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert finished.stderr == ""
    return finished.stdout, folder / "results" / "regret.png"


def test_demo_writes_a_picture_and_says_where(small_demo: tuple[str, Path]) -> None:
    output, figure = small_demo
    assert output.splitlines()[-1] == f"Figure: {Path('results/regret.png')}"
    assert figure.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    pixels = imread(figure)
    assert pixels.shape[0] > 500
    assert pixels.shape[1] > 1200
    assert pixels[..., :3].std() > 0.05


def test_demo_compares_all_three(small_demo: tuple[str, Path]) -> None:
    output, _ = small_demo
    table = output[output.index("learner") :]
    losses = {}
    for name in ("uniform policy", "UOB-REPS", "best fixed policy"):
        row = next(line for line in table.splitlines() if line.strip().startswith(name))
        losses[name] = int(row.split(name)[1].split()[0].replace(",", ""))
    assert losses["best fixed policy"] < losses["UOB-REPS"] < losses["uniform policy"]
    for figure in ("epochs", "projections certified", "worst flow residual", "worst duality gap"):
        assert figure in table
    assert "UOB-REPS lost" in table


def test_demo_writes_plain_lines_into_a_pipe(small_demo: tuple[str, Path]) -> None:
    output, _ = small_demo
    assert "\x1b" not in output
    assert "\r" not in output
    progress = [line for line in output.splitlines() if line.startswith("UOB-REPS: ")]
    assert progress
    assert progress[-1].startswith("UOB-REPS: 3,000 of 3,000 episodes, ")
    assert "regret" in progress[-1]
    assert "epoch" in progress[-1]
    assert output.index("Loading the kernels") < output.index("UOB-REPS: ")


def test_the_seed_fixes_everything(capsys: pytest.CaptureFixture[str]) -> None:
    def regrets(seed: str) -> list[str]:
        assert main([*SMALL, "--quiet", "--seed", seed]) == 0
        table = capsys.readouterr().out.splitlines()
        return [line.rsplit(maxsplit=1)[0] for line in table if "%" in line]  # without the speed

    first = regrets("4")
    assert regrets("4") == first
    assert regrets("5") != first


def test_quiet_shows_results_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--quiet", "--output", "here.svg"]) == 0
    output = capsys.readouterr().out
    assert "episodes/s" not in output
    assert "Loading" not in output
    assert output.endswith("Figure: here.svg\n")
    assert Path("here.svg").exists()


def test_options_reach_the_learner(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    original = advmdp.UOBREPS

    def spy(*arguments: object, **options: object) -> object:
        made.append(options)
        return original(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(advmdp, "UOBREPS", spy)
    options = {"--delta": 0.2, "--eta-scale": 2.0, "--gamma-scale": 3.0, "--log-scale": 0.5}
    assert main([*SMALL, "-q", *(str(part) for pair in options.items() for part in pair)]) == 0
    expected = {name[2:].replace("-", "_"): value for name, value in options.items()}
    assert made[0] == {"n_episodes": 3000, **expected}


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--layers", "1,x,1"),
        ("--layers", ""),
        ("--layers", "2,3,1"),
        ("--layers", "1,0,1"),
        ("--layers", "1,100000,100000,1"),
        ("--actions", "0"),
        ("--delta", "2"),
        ("--delta", "nan"),
        ("--episodes", "0"),
        ("--episodes", "many"),
        ("--episodes", "99999999999"),
        ("--seed", "-1"),
        ("--eta-scale", "-1"),
        ("--gamma-scale", "-0.5"),
        ("--log-scale", "inf"),
        ("--output", "figure.jpg"),
        ("--output", "a_file/figure.png"),
        ("--output", "a_folder.png"),
        ("--output", "/proc/figure.png"),
        ("--no-such-option", "1"),
    ],
)
def test_a_bad_value_is_one_line_that_names_the_option(
    option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a_file").touch()
    Path("a_folder.png").mkdir()
    assert main(["demo", option, value]) == 2
    output, errors = capsys.readouterr()
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1
    assert option in errors
    assert output == ""  # refused before anything was begun
    assert sorted(map(str, Path().iterdir())) == ["a_file", "a_folder.png"]


def test_a_refusal_reaches_the_shell() -> None:
    command = [sys.executable, "-m", "advmdp.cli", "demo", "--delta", "2"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert finished.returncode == 2
    assert finished.stderr == "error: --delta: 2.0 is not strictly between 0 and 1\n"
    assert finished.stdout == ""


@pytest.mark.parametrize(
    ("problem", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (advmdp.UncertifiedStep("episode 3: no certified projection"), 2, "error: episode 3: no"),
        (MemoryError(), 2, "error: not enough memory"),
    ],
)
def test_what_goes_wrong_later_is_one_line_too(
    problem: BaseException,
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise problem

    monkeypatch.setattr(advmdp, "play", fail)
    assert main([*SMALL, "-q"]) == code
    errors = capsys.readouterr().err
    assert errors.startswith(message)
    assert errors.count("\n") == 1
    assert not Path("results/regret.png").exists()


def test_a_bug_is_not_dressed_up_as_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(advmdp, "play", fail)
    with pytest.raises(ZeroDivisionError):
        main([*SMALL, "-q"])


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"advmdp {advmdp.__version__}\n"


def test_help() -> None:
    runner = CliRunner()
    for arguments in ([], ["--help"]):
        result = runner.invoke(app, arguments)
        assert result.exit_code == 0
        assert "demo" in result.output
    result = runner.invoke(app, ["demo", "--help"], env={"COLUMNS": "120"})
    assert result.exit_code == 0
    for option in ("--episodes", "--layers", "--seed", "--log-scale", "--output", "--quiet"):
        assert option in result.output


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_paragraphs_of_help_fill_their_lines(command: str) -> None:
    """No line ends early although the first word of the next one has room."""
    output = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "80"}).output
    lines = [line.strip() for line in output.partition("╭")[0].splitlines()]
    for line, following in pairwise(lines):
        if line and following:
            assert len(line) + 1 + len(following.split()[0]) > 78, line


def test_help_does_not_wait_for_matplotlib() -> None:
    program = """
import sys
from advmdp.cli import main
assert main(["demo", "--help"]) == 0
sys.exit("matplotlib" in sys.modules)
"""
    command = [sys.executable, "-c", program]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
