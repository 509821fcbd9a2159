"""The one file format of the package: named arrays and a small JSON header, checksummed.

Learners and runs are kept in it.  A file is, in this order (numbers are little-endian):

* ``magic`` (8 bytes), ``version`` (4 bytes), the length of the JSON text (8 bytes)
* the JSON text: the kind of file, its header, and name, dtype and shape of every array
* the arrays in the order of the text, C order, little-endian, without gaps
* the SHA-256 of everything before it (32 bytes)

The same content gives the same bytes: keys and names are sorted, and nothing is stamped with a
time.  Reading creates arrays of numbers and plain JSON values only; no code in a file can run,
unlike with pickle.  Every later version keeps magic, version and the closing checksum where they
are, so that damage and age can be told apart.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import DamagedFile, InvalidInput, StorageFailure

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"
Arrays = dict[str, NDArray[Any]]

MAGIC = b"\x93ADVMDP\n"  # not text, and broken by a transfer that changes line ends
VERSION = 1
DTYPES = frozenset(
    [f"|{kind}1" for kind in "biu"]
    + [f"<{kind}{size}" for kind in "iu" for size in (2, 4, 8)]
    + ["<f2", "<f4", "<f8", "<c8", "<c16"]
)
_OPENING = struct.Struct("<8sIQ")
_CHECKSUM_SIZE = hashlib.sha256().digest_size
NOT_A_FILE = "exists and is not a plain file"
_REMEDY = "restore it from a copy, or start anew"


def write_archive(
    path: str | Path, kind: str, header: Mapping[str, JSON], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Put a file at ``path``, or leave there what was there: never anything in between.

    The bytes go to a hidden file in the same folder, reach the disk, and only then take the name.
    A process that is killed meanwhile can leave that hidden ``.partial`` file behind; nothing
    reads it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_archive(f"{folder}/a.bin", "example", {"rate": 0.5}, {"n": np.arange(3)})
    ...     read_archive(f"{folder}/a.bin", "example")
    ({'rate': 0.5}, {'n': array([0, 1, 2])})
    """
    pieces = list(_pieces(kind, header, arrays))  # refuses before anything is written
    write_atomically(path, pieces)


def write_atomically(path: str | Path, pieces: Iterable[bytes]) -> None:
    """Put any file at ``path`` in that way."""
    if not takes_a_file(path):
        raise StorageFailure(f"{path}: {NOT_A_FILE}; give another path")
    target = Path(path).resolve()  # a link keeps pointing at the file
    partial = target.with_name(f".{target.name}.{secrets.token_hex(8)}.partial")
    try:
        with open(partial, "xb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    except BaseException as error:
        with suppress(OSError):  # a disk that refused the file may refuse its removal as well
            partial.unlink()
        if isinstance(error, OSError):
            raise StorageFailure(
                f"{path}: cannot be written ({error.strerror}); what was there is untouched"
            ) from error
        raise
    settle_folder(target.parent)


def takes_a_file(path: str | os.PathLike[str]) -> bool:
    """Whether nothing is at ``path``, or a file: a folder, a device or a pipe must stay."""
    return not os.path.exists(path) or os.path.isfile(path)


def read_archive(path: str | Path, kind: str) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of the file at ``path``, checked as a whole before anything is used."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise StorageFailure(f"{path}: cannot be read ({error.strerror})") from error
    return unpack(data, kind, str(path))


def pack(kind: str, header: Mapping[str, JSON], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The bytes of a file.

    >>> one = pack("example", {"a": 1, "b": [True, None]}, {"x": np.ones(2), "y": np.zeros(3)})
    >>> two = pack("example", {"b": [True, None], "a": 1}, {"y": np.zeros(3), "x": np.ones(2)})
    >>> one == two
    True
    """
    return b"".join(_pieces(kind, header, arrays))


def unpack(data: bytes, kind: str, name: str) -> tuple[dict[str, Any], Arrays]:
    """What ``pack`` was given; ``name`` says in messages where the bytes come from."""
    if len(data) < _OPENING.size + _CHECKSUM_SIZE or not data.startswith(MAGIC):
        raise DamagedFile(f"{name}: not a file of advmdp, or cut off at its start; {_REMEDY}")
    body = memoryview(data)[:-_CHECKSUM_SIZE]
    if hashlib.sha256(body).digest() != data[-_CHECKSUM_SIZE:]:
        raise DamagedFile(f"{name}: the checksum does not fit, the file is damaged; {_REMEDY}")
    _, version, length = _OPENING.unpack_from(body)
    if version > VERSION:
        raise InvalidInput(
            f"{name}: written in format version {version}, this advmdp reads up to version "
            f"{VERSION}; read it with a newer advmdp"
        )
    try:
        text = json.loads(bytes(body[_OPENING.size :][:length]))
        found, header, listed = text["kind"], dict(text["header"]), text["arrays"]
        arrays = _arrays(listed, body[_OPENING.size + length :])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DamagedFile(f"{name}: its table of contents makes no sense; {_REMEDY}") from None
    if found != kind:
        raise InvalidInput(f"{name}: holds a {found}, not a {kind}; give the file of a {kind}")
    return header, arrays


def _pieces(
    kind: str, header: Mapping[str, JSON], arrays: Mapping[str, NDArray[Any]]
) -> Iterator[bytes]:
    """A file, piece by piece."""
    stored = {name: _portable(arrays[name], name) for name in sorted(arrays)}
    listed = [[name, array.dtype.str, array.shape] for name, array in stored.items()]
    contents = {"kind": kind, "header": dict(header), "arrays": listed}
    try:
        text = json.dumps(contents, sort_keys=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"header: {error}; use plain JSON values, and arrays for everything else"
        ) from None
    encoded = text.encode()
    checksum = hashlib.sha256()
    opening = _OPENING.pack(MAGIC, VERSION, len(encoded))
    for piece in (opening, encoded, *(array.tobytes() for array in stored.values())):
        checksum.update(piece)
        yield piece
    yield checksum.digest()


def _portable(array: NDArray[Any], name: str) -> NDArray[Any]:
    """The array in the byte order of the file."""
    array = np.asarray(array)
    little = array.dtype.newbyteorder("<")
    if little.str not in DTYPES:
        raise InvalidInput(
            f"arrays: {name} holds {array.dtype}; only plain numbers and booleans can be stored"
        )
    return array.astype(little, copy=False)


def _arrays(listed: Any, data: memoryview) -> Arrays:
    """Copies of the arrays; ValueError if the list and the bytes do not fit each other."""
    arrays: Arrays = {}
    end = 0
    for name, dtype, shape in listed:
        if dtype not in DTYPES or any(n < 0 for n in shape):
            raise ValueError
        begin, end = end, end + math.prod(shape) * np.dtype(dtype).itemsize
        array = np.frombuffer(data[begin:end], dtype).reshape(shape)
        arrays[name] = array.astype(array.dtype.newbyteorder("="))
    if end != len(data) or len(arrays) != len(listed):
        raise ValueError
    return arrays


def settle_folder(folder: Path) -> None:
    """Make the new name last through a loss of power, where folders can be synchronised."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows has no such thing
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StorageFailure(
            f"{folder}: the file is written, but its name may not outlast a loss of power "
            f"({error.strerror}); check the folder's permissions"
        ) from error
