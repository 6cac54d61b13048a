"""Sixteen floats at a time: the type in which the inner loops are written.

LLVM's own vectoriser gives up where many rows are read and some are written, because any two might overlap.
Here the vectors are explicit. Addresses are plain integers, in bytes; a set of lanes is an integer of bits.
"""

import operator
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, TypeAlias

from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

# For mypy: what a kernel handles as lanes is never a Python object.
Lanes: TypeAlias = Any
Wide: TypeAlias = Any

WIDTH = 16 if binding.get_host_cpu_features().get("avx512f", False) else 8
ALL = (1 << WIDTH) - 1
BYTES = 4 * WIDTH

_FLOAT, _DOUBLE, _INT, _BIT = ir.FloatType(), ir.DoubleType(), ir.IntType(32), ir.IntType(1)
_FLOATS, _DOUBLES = ir.VectorType(_FLOAT, WIDTH), ir.VectorType(_DOUBLE, WIDTH)
_INTS, _BITS = ir.VectorType(_INT, WIDTH), ir.VectorType(_BIT, WIDTH)


class _Vector(types.Type):
    """`WIDTH` numbers in a register."""


_lanes = _Vector(name=f"Lanes{WIDTH}")
_wide = _Vector(name=f"Wide{WIDTH}")


@register_model(_Vector)  # type: ignore[untyped-decorator]
def _model(manager: Any, kind: Any) -> Any:
    return models.PrimitiveModel(manager, kind, _DOUBLES if kind == _wide else _FLOATS)


def _operation(emit: Callable[..., Any], result: Any, *parameters: Any) -> Any:
    """A function for kernels from what it emits."""

    def typed(context: Any, *arguments: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            made = emit(builder, *values)
            return context.get_dummy_value() if made is None else made

        return result(*parameters), generate

    names = ["context", *(f"argument{i}" for i in range(len(parameters)))]
    kind = Parameter.POSITIONAL_OR_KEYWORD
    typed.__signature__ = Signature([Parameter(name, kind) for name in names])  # type: ignore[attr-defined]
    return intrinsic(typed)


def _at(builder: Any, address: Any, kind: Any) -> Any:
    return builder.inttoptr(address, kind.as_pointer())


def _load(kind: Any, align: int) -> Callable[..., Any]:
    def emit(builder: Any, address: Any) -> Any:
        loaded = builder.load(_at(builder, address, kind))
        loaded.align = align
        return loaded

    return emit


def _gather(builder: Any, address: Any, offsets: Any) -> Any:
    steps = builder.load(_at(builder, offsets, ir.VectorType(ir.IntType(64), WIDTH)))
    steps.align = 8
    value = _FLOATS(ir.Undefined)
    for index in range(WIDTH):
        place = builder.add(address, builder.extract_element(steps, _INT(index)))
        value = builder.insert_element(value, _load(_FLOAT, 4)(builder, place), _INT(index))
    return value


def _store(kind: Any, align: int) -> Callable[..., Any]:
    def emit(builder: Any, address: Any, value: Any) -> None:
        builder.store(value, _at(builder, address, kind)).align = align

    return emit


def _store_some(builder: Any, address: Any, value: Any, lanes: Any) -> None:
    signature = ir.FunctionType(ir.VoidType(), [_FLOATS, _FLOATS.as_pointer(), _INT, _BITS])
    function = cgutils.get_or_insert_function(builder.module, signature, f"llvm.masked.store.v{WIDTH}f32.p0")
    builder.call(function, [value, _at(builder, address, _FLOATS), _INT(4), _mask(builder, lanes)])


def _mask(builder: Any, lanes: Any) -> Any:
    return builder.bitcast(builder.trunc(lanes, ir.IntType(WIDTH)), _BITS)


def _splat(builder: Any, number: Any) -> Any:
    kind = ir.VectorType(number.type, WIDTH)
    one = builder.insert_element(kind(ir.Undefined), number, _INT(0))
    return builder.shuffle_vector(one, kind(ir.Undefined), _INTS([0] * WIDTH))


def _compare(relation: str) -> Callable[..., Any]:
    def emit(builder: Any, left: Any, right: Any) -> Any:
        found = builder.fcmp_ordered(relation, left, right)
        return builder.zext(builder.bitcast(found, ir.IntType(WIDTH)), ir.IntType(64))

    return emit


def _choose(builder: Any, lanes: Any, there: Any, elsewhere: Any) -> Any:
    return builder.select(_mask(builder, lanes), there, elsewhere)


def _side(builder: Any, value: Any, bound: Any, below: Any, above: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", value, bound), below, above)


def _clamp(builder: Any, value: Any, low: Any, high: Any) -> Any:
    # In this order a NaN stays one.
    value = builder.select(builder.fcmp_ordered("<", value, low), low, value)
    return builder.select(builder.fcmp_ordered(">", value, high), high, value)


def _positive(builder: Any, value: Any) -> Any:
    zero = _FLOATS([0.0] * WIDTH)
    return builder.select(builder.fcmp_ordered("<", value, zero), zero, value)


def _floor(builder: Any, value: Any) -> Any:
    signature = ir.FunctionType(_FLOATS, [_FLOATS])
    return builder.call(
        cgutils.get_or_insert_function(builder.module, signature, f"llvm.floor.v{WIDTH}f32"), [value]
    )


def _root(builder: Any, value: Any) -> Any:
    signature = ir.FunctionType(_FLOATS, [_FLOATS])
    return builder.call(
        cgutils.get_or_insert_function(builder.module, signature, f"llvm.sqrt.v{WIDTH}f32"), [value]
    )


def _two_to(builder: Any, exponent: Any) -> Any:
    biased = builder.add(builder.fptosi(exponent, _INTS), _INTS([127] * WIDTH))
    return builder.bitcast(builder.shl(biased, _INTS([23] * WIDTH)), _FLOATS)


def _total(builder: Any, value: Any) -> Any:
    half = WIDTH
    while half > 1:
        half //= 2
        undefined = ir.VectorType(_DOUBLE, 2 * half)(ir.Undefined)
        low = builder.shuffle_vector(value, undefined, ir.VectorType(_INT, half)(list(range(half))))
        high = builder.shuffle_vector(
            value, undefined, ir.VectorType(_INT, half)(list(range(half, 2 * half)))
        )
        value = builder.fadd(low, high)
    return builder.extract_element(value, _INT(0))


def _exponent(builder: Any, value: Any) -> Any:
    bits = builder.lshr(builder.bitcast(value, _INTS), _INTS([23] * WIDTH))
    return builder.sitofp(builder.sub(bits, _INTS([127] * WIDTH)), _FLOATS)


def _significand(builder: Any, value: Any) -> Any:
    bits = builder.and_(builder.bitcast(value, _INTS), _INTS([0x7FFFFF] * WIDTH))
    return builder.bitcast(builder.or_(bits, _INTS([0x3F800000] * WIDTH)), _FLOATS)


def _claim(builder: Any, address: Any) -> Any:
    pointer = _at(builder, address, ir.IntType(64))
    return builder.atomic_rmw("add", pointer, ir.IntType(64)(1), "monotonic")


def _arithmetic(operate: Callable[..., Any], name: str) -> None:
    """An operator between lanes, wide lanes, and either of them and a number."""

    @type_callable(operate)
    def typed(context: Any) -> Any:
        def result(left: Any, right: Any) -> Any:
            kinds = {kind for kind in (left, right) if isinstance(kind, _Vector)}
            return kinds.pop() if len(kinds) == 1 else None

        return result

    def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        number = types.float64 if signature.return_type == _wide else types.float32
        left, right = (
            value
            if isinstance(kind, _Vector)
            else _splat(builder, context.cast(builder, value, kind, number))
            for kind, value in zip(signature.args, values, strict=True)
        )
        return getattr(builder, name)(left, right, flags=("contract",))

    for kind in (_lanes, _wide):
        lower_builtin(operate, kind, kind)(lower)
        lower_builtin(operate, kind, types.Number)(lower)
        lower_builtin(operate, types.Number, kind)(lower)


load = _operation(_load(_FLOATS, 4), _lanes, types.int64)
gather = _operation(_gather, _lanes, types.int64, types.int64)
store = _operation(_store(_FLOATS, 4), types.void, types.int64, _lanes)
store_some = _operation(_store_some, types.void, types.int64, _lanes, types.int64)
load_wide = _operation(_load(_DOUBLES, 8), _wide, types.int64)
store_wide = _operation(_store(_DOUBLES, 8), types.void, types.int64, _wide)
peek = _operation(_load(_FLOAT, 4), types.float32, types.int64)
poke = _operation(_store(_FLOAT, 4), types.void, types.int64, types.float32)

splat = _operation(_splat, _lanes, types.float32)
splat_wide = _operation(_splat, _wide, types.float64)
widen = _operation(lambda builder, value: builder.fpext(value, _DOUBLES), _wide, _lanes)
narrow = _operation(lambda builder, value: builder.fptrunc(value, _FLOATS), _lanes, _wide)
total = _operation(_total, types.float64, _wide)
ramp = _operation(lambda builder: _FLOATS([float(i) for i in range(WIDTH)]), _lanes)

equal = _operation(_compare("=="), types.int64, _lanes, _lanes)
less = _operation(_compare("<"), types.int64, _lanes, _lanes)
choose = _operation(_choose, _lanes, types.int64, _lanes, _lanes)
side = _operation(_side, _lanes, _lanes, _lanes, _lanes, _lanes)
positive = _operation(_positive, _lanes, _lanes)
clamp = _operation(_clamp, _lanes, _lanes, _lanes, _lanes)
floor = _operation(_floor, _lanes, _lanes)
root = _operation(_root, _lanes, _lanes)

lane = _operation(
    lambda builder, value, index: builder.extract_element(value, index), types.float32, _lanes, types.int64
)
first = _operation(lambda builder, lanes: builder.cttz(lanes, _BIT(1)), types.int64, types.int64)
claim = _operation(_claim, types.int64, types.int64)

two_to = _operation(_two_to, _lanes, _lanes)
exponent = _operation(_exponent, _lanes, _lanes)
significand = _operation(_significand, _lanes, _lanes)

_arithmetic(operator.add, "fadd")
_arithmetic(operator.sub, "fsub")
_arithmetic(operator.mul, "fmul")
_arithmetic(operator.truediv, "fdiv")
