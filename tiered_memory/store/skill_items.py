"""Skills as they are listed, and what became of those that were replaced or imported."""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen
from attrs.validators import instance_of, optional

from tiered_memory.store.listing import Choice
from tiered_memory.store.uri import Uri


@frozen
class Skill:
    """A skill that is there.

    Attributes:
        uri: Where it stands.
        files: How many files it has.
        enabled: Whether it is in use.
        group: Its group's tag.
    """

    uri: Uri
    files: int
    enabled: bool
    group: str

    @property
    def name(self) -> str:
        """Its name."""
        return self.uri.name

    @property
    def owner(self) -> str:
        """Whose it is."""
        return self.uri.segments[1]


@frozen
class SkillFilter(Choice):
    """Which skills a listing has.

    Attributes:
        substring: Those that have this in their URI, scheme included, whatever its case.
        group: Those that have this as their group's tag, or as their owner.
        include_disabled: Whether those too that are switched off, by themselves or a directory above.
        owner: Those of this owner.
    """

    owner: str | None = field(default=None, validator=optional(instance_of(str)))

    def wants(self, skill: Skill) -> bool:
        """Whether a skill is one of them."""
        return (
            (self.include_disabled or skill.enabled)
            and self.owner in (None, skill.owner)
            and self.group in (None, skill.group, skill.owner)
            and (self.substring or "").casefold() in skill.uri.casefold()
        )


@frozen
class Replaced:
    """What became of files that were to be a skill.

    Attributes:
        uri: Where it stands.
        replaced: Whether something stood there before.
        files: How many files it has now.
    """

    uri: Uri
    replaced: bool
    files: int


@frozen
class ImportedSkill:
    """What became of one skill of an import.

    Attributes:
        name: Its name.
        uri: Where it stands.
        outcome: Whether it is new, took another's place, or couldn't be written and is as it was.
        files: How many files it has.
        error: The code of the error, if it couldn't be written.
    """

    name: str
    uri: Uri
    outcome: Literal["created", "replaced", "failed"]
    files: int
    error: str | None = None
