"""Operations: methods written as plans, which block or are awaited by the class that they are called on."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import update_wrapper
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from tiered_memory.plan import Plan
from tiered_memory.telemetry import is_on, traced

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")


class Runner(Protocol):
    """Executes plans and returns their results."""

    def run(self, plan: Plan[T]) -> T:
        """The plan's result; whatever it raises is raised."""
        ...


class AsyncRunner(Protocol):
    """Executes plans without blocking the event loop."""

    async def run(self, plan: Plan[T]) -> T:
        """The plan's result; whatever it raises is raised."""
        ...


class Blocking:
    """A class whose operations return their results."""

    _runner: Runner


class NonBlocking:
    """A class whose operations are awaited."""

    _runner: AsyncRunner


class Planned:
    """A class whose operations return their plans, to be steps of other plans."""

    @property
    def _runner(self) -> Planned:
        return self

    def run(self, plan: Plan[T]) -> Plan[T]:
        """The plan itself."""
        return plan


class operation(Generic[S, P, T]):  # noqa: N801 - used as a decorator
    """Makes a method that returns a plan a blocking or an awaitable one, by the class it is called on."""

    def __init__(self, method: Callable[Concatenate[S, P], Plan[T]]) -> None:
        def call(handle: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
            plan = method(handle, *args, **kwargs)
            return handle._runner.run(traced(method.__name__, handle, plan) if is_on() else plan)

        self._call = update_wrapper(call, method)
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Callable[Concatenate[Any, P], Any]: ...
    @overload
    def __get__(self, instance: Blocking, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, instance: NonBlocking, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, instance: Planned, owner: type) -> Callable[P, Plan[T]]: ...

    def __get__(self, instance: Any, owner: type) -> Any:
        """The method, bound to `instance`, whose runner executes the plan in its mode."""
        return self._call if instance is None else MethodType(self._call, instance)
