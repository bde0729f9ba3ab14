"""Skills: folders of instructions at `viking://user/OWNER/skills/NAME`, replaced as a whole, imported and listed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

from tiered_memory import clock
from tiered_memory import plan as plans
from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.engine.reply import text
from tiered_memory.engine.scripts import call
from tiered_memory.errors import StoreError
from tiered_memory.operation import Blocking, NonBlocking, operation
from tiered_memory.plan import Plan, ask
from tiered_memory.store.bound import Bound
from tiered_memory.store.items import CountedPage, Document, check_document_uri, content_hash
from tiered_memory.store.listing import check_page
from tiered_memory.store.nodes import fenced
from tiered_memory.store.queue import job_arguments
from tiered_memory.store.skill_files import skill_documents, skill_uri
from tiered_memory.store.skill_items import ImportedSkill, Replaced, Skill, SkillFilter
from tiered_memory.store.skill_sources import read_skills
from tiered_memory.store.tree import address, document_arguments
from tiered_memory.store.uri import Uri

_STEP = 1000
"""How many skills one script lists at the most."""

Imports: TypeAlias = "list[ImportedSkill]"


class SkillOperations(Bound):
    """The skills of one scope."""

    @operation
    def replace(self, uri: str, files: Mapping[str, str]) -> Plan[Replaced]:
        """Puts files in the place of what stands at a URI and below, in one step: wholly, or, if anything fails, not.

        What was there is removed as `documents.remove` does it, jobs and vectors included; the URI stays switched off
        if it was, and in its group. Each file gets the usual jobs: it is to be embedded and summarised.

        Args:
            uri: Where, for a skill `viking://user/OWNER/skills/NAME`.
            files: Texts by their paths below.

        Raises:
            InvalidURI: The URI isn't one.
            IsRoot: It is the root.
            InvalidSkill: There are no files, or one stands where a folder is needed.
            BadPath: A path is absolute, leads elsewhere, or may mean something else.
            TooLarge: A text is too long, or all of them are.
        """
        parsed = check_document_uri(uri)
        documents = skill_documents(parsed, files)
        return (yield from _replace((yield from self._keys()), parsed, documents))

    @operation
    def import_from(self, source: str | os.PathLike[str], *, owner: str = "default") -> Plan[Imports]:
        """Imports the skills of a local folder or tar archive, each as `replace` does it.

        It holds one skill, its `SKILL.md` at the top, or a folder for each of several; one more folder may wrap all
        that. An archive may be compressed by gzip. Everything is checked before anything is written.

        Args:
            source: The path of the folder or archive. A skill at the top is named after it, others after their folders.
            owner: Whose skills they are.

        Returns:
            What became of each skill, in the order of their paths.

        Raises:
            InvalidSkill: A skill has no `SKILL.md`; there is a link, a duplicate, a clash, a file that isn't UTF-8, or
                a file beside the skills; or the source can't be read.
            BadPath: A path, a skill's name or the owner's can't be part of a URI.
            TooLarge: There are more than `MAX_ENTRIES` files and folders, or `MAX_BYTES`.
        """
        found = yield from plans.call(read_skills, source)
        skills = {name: skill_documents(skill_uri(owner, name), found[name]) for name in sorted(found)}
        keys = yield from self._keys()
        outcomes: Imports = []
        for name, documents in skills.items():
            outcomes.append((yield from _import(keys, skill_uri(owner, name), documents)))
        return outcomes

    @operation
    def list(
        self,
        limit: int = 100,
        offset: int = 0,
        filter: Mapping[str, Any] | SkillFilter | None = None,
        *,
        cursor: str | None = None,
    ) -> Plan[CountedPage[Skill]]:
        """A page of the skills in the order of their URIs: the directories `viking://user/OWNER/skills/NAME`.

        Args:
            limit: How many at the most, up to `MAX_PAGE`.
            offset: How many to pass over.
            filter: Which of them, see `SkillFilter`.
            cursor: The `cursor` of a page, to have the next one.

        Raises:
            InvalidLimit: `limit` or `offset` is out of its range.
            InvalidQuery: The filter, or the cursor, isn't one.
        """
        check_page(limit, offset, cursor)
        wanted = SkillFilter.of(filter)
        found = [skill for skill in (yield from _skills((yield from self._keys()))) if wanted.wants(skill)]
        left = [skill for skill in found if skill.uri > (cursor or "")][offset:]
        more = str(left[limit - 1].uri) if len(left) > limit else None
        return CountedPage(left[:limit], more, len(found))


def _replace(keys: ScopeKeys, uri: Uri, documents: list[Document]) -> Plan[Replaced]:
    work = [fenced(job, each.uri, content_hash(each.content)) for each in documents for job in each.jobs]
    written = (*document_arguments(keys, documents), *job_arguments(work))
    arguments = (clock.now_micros(), *address(keys), uri, *written)
    (stood,) = yield from ask(call("skills_replace", keys.scopes, arguments), repeatable=False)
    return Replaced(uri, bool(stood), len(documents))


def _import(keys: ScopeKeys, uri: Uri, documents: list[Document]) -> Plan[ImportedSkill]:
    try:
        done = yield from _replace(keys, uri, documents)
    except StoreError as error:
        return ImportedSkill(uri.name, uri, "failed", len(documents), error.code)
    return ImportedSkill(uri.name, uri, "replaced" if done.replaced else "created", done.files)


def _skills(keys: ScopeKeys) -> Plan[list[Skill]]:
    """All skills of a scope, some at a time."""
    skills: list[Skill] = []
    while True:
        after = skills[-1].uri if skills else ""
        (rows,) = yield from ask(call("skills_list", keys.scopes, (*address(keys), after, _STEP)))
        skills += [Skill(Uri(text(uri)), files, bool(enabled), text(group)) for uri, files, enabled, group in rows]
        if len(rows) < _STEP:
            return skills


class Skills(SkillOperations, Blocking):
    """The skills of one scope."""


class AsyncSkills(SkillOperations, NonBlocking):
    """The skills of one scope."""
