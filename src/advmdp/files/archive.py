"""The file format of the package: named arrays and a small JSON header, with a checksum.

Learners, services and checkpoints are stored in it.  A file consists of, in this order (numbers are
little-endian):

* ``magic`` (8 bytes), ``version`` (4 bytes), the length of the JSON text (8 bytes)
* the JSON text: the kind of file, its header, and name, dtype and shape of every array
* the arrays in the order of the text, C order, little-endian, without gaps
* the SHA-256 of everything before it (32 bytes)

Equal contents give equal bytes: keys and names are sorted, and there is no time stamp.  Reading
creates arrays of numbers and plain JSON values only; unlike a pickle, a file cannot run code.
Every later version keeps magic, version and the final checksum in place, so that a damaged file and
a newer one can be told apart.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.arguments import file_path
from advmdp.errors import DamagedFile, InvalidInput, StorageFailure
from advmdp.files.atomic import write_atomically
from advmdp.files.plain import read_plain

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"
Arrays = dict[str, NDArray[Any]]

MAGIC = b"\x93ADVMDP\n"  # not text; a transfer that changes line ends breaks it
VERSION = 1
DTYPES = frozenset(
    [f"|{kind}1" for kind in "biu"]
    + [f"<{kind}{size}" for kind in "iu" for size in (2, 4, 8)]
    + ["<f2", "<f4", "<f8", "<c8", "<c16"]
)
_OPENING = struct.Struct("<8sIQ")
_CHECKSUM_SIZE = hashlib.sha256().digest_size
_REMEDY = "restore it from a copy, or start again without it"


def write_archive(
    path: str | Path, kind: str, header: Mapping[str, JSON], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a file at ``path``, atomically: it replaces what was there only when it is complete.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_archive(f"{folder}/a.bin", "example", {"rate": 0.5}, {"n": np.arange(3)})
    ...     read_archive(f"{folder}/a.bin", "example")
    ({'rate': 0.5}, {'n': array([0, 1, 2])})
    """
    pieces = list(_pieces(kind, header, arrays))  # rejects bad contents before anything is written
    write_atomically(file_path(path), pieces)


def read_archive(path: str | Path, kind: str) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of the file at ``path``, whose checksum is verified first."""
    try:
        data = read_plain(file_path(path))
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
    """Header and arrays that ``pack`` was given; messages call the source of the bytes ``name``."""
    if len(data) < _OPENING.size + _CHECKSUM_SIZE or not data.startswith(MAGIC):
        raise DamagedFile(f"{name}: not a file of advmdp, or truncated at its start; {_REMEDY}")
    body = memoryview(data)[:-_CHECKSUM_SIZE]
    if hashlib.sha256(body).digest() != data[-_CHECKSUM_SIZE:]:
        raise DamagedFile(f"{name}: the checksum does not match, the file is damaged; {_REMEDY}")
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
        raise DamagedFile(f"{name}: its table of contents is malformed; {_REMEDY}") from None
    if found != kind:
        raise InvalidInput(f"{name}: holds a {found}, not a {kind}; give the file of a {kind}")
    return header, arrays


def _pieces(
    kind: str, header: Mapping[str, JSON], arrays: Mapping[str, NDArray[Any]]
) -> Iterator[bytes]:
    """The bytes of a file, piece by piece."""
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
    """The array in the little-endian byte order of the file."""
    array = np.asarray(array)
    little = array.dtype.newbyteorder("<")
    if little.str not in DTYPES:
        raise InvalidInput(
            f"arrays: {name} holds {array.dtype}; only plain numbers and booleans can be stored"
        )
    return array.astype(little, copy=False)


def _arrays(listed: Any, data: memoryview) -> Arrays:
    """Copies of the arrays; ValueError if the list and the bytes do not match."""
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
