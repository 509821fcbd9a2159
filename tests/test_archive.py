"""The file format: what comes back, what is noticed, and what a crash can do."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import resource
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from advmdp.errors import AdvMDPError, DamagedFile, InvalidInput, StorageFailure
from advmdp.files.archive import DTYPES, MAGIC, VERSION, pack, read_archive, unpack, write_archive
from advmdp.files.atomic import replacing

HEADER = {"name": "ü", "rate": 0.1, "sizes": [1, 3, 1], "nested": {"none": None, "yes": True}}
ARRAYS = {
    "scalar": np.array(7, dtype=np.int32),
    "empty": np.zeros((0, 3)),
    "bits": np.array([[True, False]]),
    "odd": np.array([np.nan, -0.0, np.inf, 5e-324]),
}
SMALL = pack("example", HEADER, ARRAYS)


def assert_same_arrays(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        assert array.dtype == theirs[name].dtype.newbyteorder("=")
        assert array.shape == theirs[name].shape
        assert array.tobytes() == theirs[name].astype(array.dtype).tobytes(), name


# ---------------------------------------------------------------------- what comes back

plain_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
dtypes = st.sampled_from(sorted(DTYPES)).map(np.dtype)
any_array = arrays_of.arrays(
    dtypes | dtypes.map(lambda d: d.newbyteorder(">")),
    arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.text(), plain_json, max_size=3),
    st.dictionaries(st.text(), any_array, max_size=4),
)
def test_everything_comes_back_to_the_bit(header: Any, arrays: Any) -> None:
    data = pack("example", header, arrays)
    found, stored = unpack(data, "example", "here")
    assert found == header
    assert_same_arrays(stored, arrays)
    assert all(array.flags.writeable and array.flags.owndata for array in stored.values())
    backwards = dict(reversed(arrays.items()))
    assert pack("example", dict(reversed(header.items())), backwards) == data


def test_slices_and_transposes_are_stored_in_c_order() -> None:
    whole = np.arange(24).reshape(2, 3, 4)
    arrays = {"slice": whole[:, ::2, 1], "transpose": whole.T, "fortran": np.asfortranarray(whole)}
    assert_same_arrays(unpack(pack("example", {}, arrays), "example", "here")[1], arrays)


def test_the_bytes_are_those_of_the_description(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_archive(path, "example", {"b": 1, "a": 2}, {"x": np.array([1, 258], dtype=np.uint16)})
    text = b'{"arrays":[["x","<u2",[2]]],"header":{"a":2,"b":1},"kind":"example"}'
    body = b"\x93ADVMDP\n" + struct.pack("<IQ", 1, len(text)) + text + b"\x01\x00\x02\x01"
    assert path.read_bytes() == body + hashlib.sha256(body).digest()
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "array", [np.array([None]), np.array(["a"]), np.zeros(1, "M8[s]"), np.zeros(1, np.longdouble)]
)
def test_only_plain_numbers_are_stored(array: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="arrays: x holds"):
        write_archive(tmp_path / "file", "example", {}, {"x": array})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [np.int64(1), float("nan"), b"bytes", {1}, np.zeros(1)])
def test_only_plain_json_is_stored(value: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"header: .*; use plain JSON values"):
        write_archive(tmp_path / "file", "example", {"a": value}, {})
    assert not list(tmp_path.iterdir())


def test_every_truncation_is_noticed() -> None:
    for length in range(len(SMALL)):
        with pytest.raises(DamagedFile, match=r"^here: [^\n]*; restore it from a copy"):
            unpack(SMALL[:length], "example", "here")


def test_every_altered_byte_is_noticed() -> None:
    for place in range(len(SMALL)):
        for bits in (0x01, 0x80, 0xFF):
            spoilt = bytearray(SMALL)
            spoilt[place] ^= bits
            with pytest.raises(DamagedFile):
                unpack(bytes(spoilt), "example", "here")


def test_something_added_is_noticed() -> None:
    for spoilt in (SMALL + b"\0", b"\0" + SMALL, SMALL + SMALL, b"PK\x03\x04" + SMALL, b""):
        with pytest.raises(DamagedFile):
            unpack(spoilt, "example", "here")


def test_another_kind_and_a_newer_version_are_named() -> None:
    with pytest.raises(InvalidInput, match="here: holds a example, not a run"):
        unpack(SMALL, "run", "here")
    newer = sealed(MAGIC + struct.pack("<I", VERSION + 2) + SMALL[12:-32])
    with pytest.raises(InvalidInput, match=f"version {VERSION + 2}, .* up to version {VERSION};"):
        unpack(newer, "example", "here")


def sealed(body: bytes) -> bytes:
    """A file whose checksum fits, whatever its contents."""
    return body + hashlib.sha256(body).digest()


def with_contents(text: Any, data: bytes = b"") -> bytes:
    encoded = text if isinstance(text, bytes) else json.dumps(text).encode()
    return sealed(MAGIC + struct.pack("<IQ", VERSION, len(encoded)) + encoded + data)


def listing(*arrays: Any) -> dict[str, Any]:
    return {"kind": "example", "header": {}, "arrays": list(arrays)}


NONSENSE = {
    "not JSON": with_contents(b"{"),
    "not text": with_contents(b"\xff\xfe"),
    "deeply nested": with_contents(b"[" * 200_000),
    "a list": with_contents([]),
    "no kind": with_contents({"header": {}, "arrays": []}),
    "header is a number": with_contents({"kind": "example", "header": 1, "arrays": []}),
    "arrays is a number": with_contents({"kind": "example", "header": {}, "arrays": 3}),
    "an object array": with_contents(listing(["x", "|O", [1]]), b"\0" * 8),
    "a structured dtype": with_contents(listing(["x", [["a", "<f8"]], [1]]), b"\0" * 8),
    "negative shape": with_contents(listing(["x", "<f8", [-1]]), b"\0" * 8),
    "two negative sizes": with_contents(listing(["x", "<f8", [-1, -1]]), b"\0" * 8),
    "shape of floats": with_contents(listing(["x", "<f8", [1.0]]), b"\0" * 8),
    "shape of booleans": with_contents(listing(["x", "<f8", [True]]), b"\0" * 8),
    "huge shape": with_contents(listing(["x", "<f8", [2**40]]), b"\0" * 8),
    "huge empty shape": with_contents(listing(["x", "<f8", [0, 2**80]])),
    "many dimensions": with_contents(listing(["x", "<f8", [1] * 99]), b"\0" * 8),
    "too little data": with_contents(listing(["x", "<f8", [2]]), b"\0" * 8),
    "surplus data": with_contents(listing(["x", "<f8", [1]]), b"\0" * 16),
    "the same name twice": with_contents(listing(*2 * [["x", "<f8", [1]]]), b"\0" * 16),
    "no shape": with_contents(listing(["x", "<f8"]), b"\0" * 8),
    "text longer than the file": sealed(MAGIC + struct.pack("<IQ", VERSION, 2**62) + b"{}"),
}


@pytest.mark.parametrize("case", NONSENSE)
def test_contents_that_make_no_sense_are_refused(case: str) -> None:
    """A checksum is no protection against someone who can compute one."""
    with pytest.raises(DamagedFile, match="here: its table of contents is malformed"):
        unpack(NONSENSE[case], "example", "here")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_arbitrary_contents_never_end_in_another_error(text: bytes) -> None:
    with pytest.raises(AdvMDPError):
        unpack(with_contents(text), "example", "here")


# ---------------------------------------------------------------------- what the disk does


def test_a_missing_file_or_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageFailure, match=r"absent: cannot be read \(No such file"):
        read_archive(tmp_path / "absent", "example")
    with pytest.raises(StorageFailure, match=r"file: cannot be written \(No such file"):
        write_archive(tmp_path / "absent" / "file", "example", {}, {})


def test_a_link_keeps_pointing_at_the_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "folder" / "file")
    write_archive(link, "example", {"a": 1}, {})
    assert link.is_symlink()
    assert read_archive(tmp_path / "folder" / "file", "example") == ({"a": 1}, {})


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_plain_file_is_not_replaced(make: Any, tmp_path: Path) -> None:
    path, link = tmp_path / "special", tmp_path / "link"
    make(path)
    link.symlink_to(path)
    before = path.lstat()
    for name in (path, link):
        with pytest.raises(StorageFailure, match=f"{name}: exists and is not a plain file; give"):
            write_archive(name, "example", {}, {})
    assert path.lstat() == before
    assert sorted(tmp_path.iterdir()) == [link, path]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_archive(path, "example", {}, {"x": np.zeros(3)})
    before = path.read_bytes()
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in (0, 1, 4096, 50_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            with pytest.raises(StorageFailure, match=r"file: cannot be written .*is untouched"):
                write_archive(path, "example", {}, {"x": np.zeros(100_000)})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_refuses_everything_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*arguments: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "replace", refused)
    monkeypatch.setattr(os, "unlink", refused)  # the draft cannot be removed either
    with pytest.raises(StorageFailure, match=r"file: cannot be written \(Read-only file system"):
        write_archive(tmp_path / "file", "example", {}, {})
    refusal = pytest.raises(StorageFailure, match=r"page\.html: cannot be written \(Read-only")
    with refusal, replacing(tmp_path / "page.html") as draft:
        draft.touch()


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_an_interruption_leaves_the_old_file_and_nothing_else(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_archive(path, "example", {"a": 1}, {})

    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, call, interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_archive(path, "example", {"a": 2}, {})
    assert list(tmp_path.iterdir()) == [path]
    assert read_archive(path, "example") == ({"a": 1}, {})


# Writes the file in a child that kills itself before the n-th line of Python, for every n; the
# lines of the libraries that the writing calls count too.
KILLED_WRITERS = """
import os, signal, sys
import numpy as np
from advmdp.files.archive import write_archive

arrays = {"x": np.full(1000, 2.0), "y": np.full(1000, 2.0)}
for n in range(1, 10**6):
    child = os.fork()
    if child == 0:
        left = n
        def count_down(frame, event, argument):
            global left
            left -= event == "line"
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return count_down
        sys.settrace(count_down)
        write_archive(sys.argv[1], "example", {"n": 2}, arrays)
        sys.settrace(None)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    with open(sys.argv[1], "rb") as file, open(f"{sys.argv[2]}/{n}", "wb") as copy:
        copy.write(file.read())
    if status == 0:
        break
    assert os.WTERMSIG(status) == signal.SIGKILL
"""


def test_a_writer_killed_at_any_line_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path, seen = tmp_path / "folder" / "file", tmp_path / "seen"
    path.parent.mkdir()
    seen.mkdir()
    write_archive(path, "example", {"n": 1}, {"x": np.full(1000, 1.0)})
    old = path.read_bytes()
    new = pack("example", {"n": 2}, {name: np.full(1000, 2.0) for name in "xy"})
    subprocess.run([sys.executable, "-c", KILLED_WRITERS, path, seen], check=True)
    after = [(seen / str(n + 1)).read_bytes() for n in range(len(list(seen.iterdir())))]
    turn = after.index(new)
    assert after == [old] * turn + [new] * (len(after) - turn)
    assert len(after) > 30  # it was killed at many places
    left = {each.suffix for each in path.parent.iterdir()}
    assert left == {"", ".partial"}  # some of them between the writing and the naming
