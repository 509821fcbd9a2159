"""Logarithms and exponentials in vector registers, eight at a time (``vectors``).

The mathematical library takes one number in a call.  Where many entries of a row need a logarithm,
these are a division and a polynomial; both are good to two units in the last place, and a kernel
that uses them says in its loop what they stand for.
"""

from __future__ import annotations

from typing import Any

from .vectors import N_LANES, Lanes

LN2 = 0.6931471805599453
LN2_HIGH, LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10  # the first has 32 bits
LOG2_E = 1.4426950408889634
FRACTION_BITS = 52
HALF = 2 ** (FRACTION_BITS - 1)  # half a power of two, as a difference of bit patterns
WHOLE = 1.5 * 2.0**FRACTION_BITS  # added to a number, it leaves a whole one in the lowest bits
WHOLE_BITS = 0x4338 << 48
ODD_SERIES = tuple(1 / (2 * n + 1) for n in range(11))
"""Of  atanh(s) / s  in s^2, for |s| up to 0.2, where these terms reach rounding."""


def _inverse_factorials(n: int) -> tuple[float, ...]:
    found = [1.0]
    for i in range(1, n):
        found.append(found[-1] / i)
    return tuple(found)


EXPONENTIAL_SERIES = _inverse_factorials(14)
"""Of  e^x  for |x| up to ln(2) / 2."""


def _integers(lanes: Lanes) -> Any:
    from llvmlite import ir

    return ir.VectorType(ir.IntType(64), N_LANES)


def _every(kind: Any, value: int) -> Any:
    return kind([value] * N_LANES)


def _polynomial(lanes: Lanes, x: Any, coefficients: tuple[float, ...]) -> Any:
    value = lanes.every(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = lanes.fused(x, value, lanes.every(coefficient))
    return value


def log_of_ratio(lanes: Lanes, a: Any, b: Any) -> Any:
    """ln(a / b) of ordinary positive numbers; exactly zero where they are equal.

    Bit patterns of floats grow almost as their logarithms: from their difference one sees the power
    of two that takes a to between 2/3 and 3/2 of b.  Of what is left the logarithm is the series of
    ln((1 + s) / (1 - s)).  Zeros give some finite number.
    """
    builder, bits = lanes.builder, _integers(lanes)
    a_bits = builder.bitcast(a, bits)
    apart = builder.sub(a_bits, builder.bitcast(b, bits))
    power = builder.ashr(builder.add(apart, _every(bits, HALF)), _every(bits, FRACTION_BITS))
    shift = builder.shl(power, _every(bits, FRACTION_BITS))
    near = builder.bitcast(builder.sub(a_bits, shift), lanes.kind)
    number = builder.bitcast(builder.add(power, _every(bits, WHOLE_BITS)), lanes.kind)
    number = lanes.subtract(number, lanes.every(WHOLE))
    size = lanes.larger(lanes.add(near, b), lanes.every(1e-300))
    s = lanes.over(lanes.subtract(near, b), size)
    series = _polynomial(lanes, lanes.times(s, s), ODD_SERIES)
    rest = lanes.times(lanes.add(s, s), series)
    return lanes.fused(number, lanes.every(LN2), rest)


def exponential(lanes: Lanes, x: Any) -> Any:
    """e^x for |x| up to 700."""
    builder, bits = lanes.builder, _integers(lanes)
    shifted = lanes.add(lanes.times(x, lanes.every(LOG2_E)), lanes.every(WHOLE))
    number = lanes.subtract(shifted, lanes.every(WHOLE))
    rest = lanes.fused(number, lanes.every(-LN2_HIGH), x)
    rest = lanes.fused(number, lanes.every(-LN2_LOW), rest)
    found = builder.bitcast(_polynomial(lanes, rest, EXPONENTIAL_SERIES), bits)
    power = builder.shl(builder.bitcast(shifted, bits), _every(bits, FRACTION_BITS))
    return builder.bitcast(builder.add(found, power), lanes.kind)
