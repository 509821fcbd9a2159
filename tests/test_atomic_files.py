"""Files that are replaced in one step: by archives, manifests, pages and figures alike."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from advmdp.errors import StorageFailure
from advmdp.files.atomic import replacing, write_atomically
from advmdp.reports.figures.regret_plot import plot_regret
from advmdp.reports.html.report_page import write_report
from tests.reports.frames import made_up_results
from tests.reports.runs import learner_and_baseline


def test_a_block_that_raises_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def interrupted(draft: Path) -> None:
        draft.write_text("new")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), replacing(path) as draft:
        interrupted(draft)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_writers_of_one_file_do_not_share_a_draft(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with replacing(path) as first:
        first.write_text("first")
        with replacing(path) as second:
            second.write_text("second")
        assert path.read_text() == "second"
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_failures_name_the_file_and_keep_their_own_words(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(StorageFailure, match=r"file: cannot be written \(No such file"):
        write_atomically(tmp_path / "absent" / "file", [b""])
    with pytest.raises(StorageFailure, match="file: cannot be written"), replacing(path):
        pass  # nothing was written: there is no draft to rename
    with pytest.raises(StorageFailure, match=r"^another message$"), replacing(path):
        raise StorageFailure("another message")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["page", "figure", "bytes"])
def test_the_content_reaches_the_disk_before_the_name(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    for name in ("fsync", "replace"):
        original = getattr(os, name)

        def recorded(*arguments: Any, name: str = name, original: Any = original) -> Any:
            calls.append(name)
            return original(*arguments)

        monkeypatch.setattr(os, name, recorded)
    if kind == "page":
        path = write_report(made_up_results(n_replicates=2), tmp_path / "page.html")
    elif kind == "figure":
        path = plot_regret(dict(zip("ab", learner_and_baseline(), strict=True)), tmp_path / "a.png")
    else:
        path = tmp_path / "file"
        write_atomically(path, [b"new"])
    assert calls == ["fsync", "replace", "fsync"]  # the content, its name, the folder
    assert list(tmp_path.iterdir()) == [path]
