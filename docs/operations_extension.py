"""Shows operations in the API reference as users call them: what they return, and which ones are awaited."""

from __future__ import annotations

from typing import Any

from griffe import Class, ExprSubscript, Extension, Function, Module


class Operations(Extension):
    """An `operation` returns what its plan does; on a class of the async facade it is awaited."""

    def on_function_instance(self, *, func: Function, **_: Any) -> None:
        """Takes the plan off the return annotation."""
        if _is_operation(func) and isinstance(func.returns, ExprSubscript):
            func.returns = func.returns.slice

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Gives each async class operations of its own, which say that they are awaited."""
        for module in pkg.modules.values():
            for cls in module.classes.values():
                if not cls.is_alias and _is_async(cls):
                    for name, member in cls.inherited_members.items():
                        if _is_operation(member.final_target):
                            cls.set_member(name, _awaited(member.final_target, cls))


def _is_operation(function: Any) -> bool:
    return any(str(decorator.value) == "operation" for decorator in getattr(function, "decorators", ()))


def _is_async(cls: Class) -> bool:
    return any(base.name == "NonBlocking" for base in cls.mro())


def _awaited(function: Function, cls: Class) -> Function:
    copy = Function(
        function.name,
        lineno=function.lineno,
        endlineno=function.endlineno,
        parameters=function.parameters,
        returns=function.returns,
        docstring=function.docstring,
        parent=cls,
    )
    copy.labels.add("async")
    return copy
