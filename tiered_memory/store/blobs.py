"""Vectors as callers have them, float32 numbers in bytes, and as the store keeps them."""

from __future__ import annotations

from tiered_memory.errors import DimMismatch, InvalidDim

MAX_DIMENSIONS = 8192
"""The most numbers that a vector has."""


def encode(blob: object, dimensions: int, numbers: str) -> bytes:
    """A vector of float32 numbers as numbers of this numpy type; raises `InvalidDim` or `DimMismatch`."""
    import numpy as np

    if not isinstance(blob, bytes | bytearray | memoryview):
        raise InvalidDim(f"a vector must be the bytes of its float32 numbers, not {type(blob).__name__}")
    given = bytes(blob)
    if len(given) % 4 or not 1 <= len(given) // 4 <= MAX_DIMENSIONS:
        raise InvalidDim(f"a vector of {len(given)} bytes isn't one of 1 to {MAX_DIMENSIONS} float32 numbers")
    if len(given) // 4 != dimensions:
        raise DimMismatch(f"a vector has {len(given) // 4} dimensions, the embedder of the namespace {dimensions}")
    vector = np.frombuffer(given, "<f4")
    length = float(np.linalg.norm(vector.astype("f8")))
    if not 0 < length < float("inf"):
        raise InvalidDim("a vector is zero or not finite, so that nothing is near to it")
    # shorter numbers are of unit length, since they hold neither very large nor very small ones
    return given if numbers == "<f4" else (vector / length).astype(numbers).tobytes()


def decode(blob: bytes, numbers: str) -> bytes:
    """A vector of numbers of this numpy type as float32 numbers."""
    if numbers == "<f4":
        return blob
    import numpy as np

    return np.frombuffer(blob, numbers).astype("<f4").tobytes()


def any_vector(dimensions: int, numbers: str) -> bytes:
    """Some vector as the store keeps it."""
    import numpy as np

    return np.ones(dimensions, numbers).tobytes()
