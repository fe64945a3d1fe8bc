"""What an owner accepts when it joins: the account of the agreement in a few lines, for whoever is responsible for the
table, beside that of the default agreement with as many records. Anything that raises a figure of the account needs an
explicit yes. Which setting raised it does not matter, so no new setting can be forgotten here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from blindlabel.errors import InputError
from blindlabel.parties.accounting import account_of, exposure_of
from blindlabel.protocol.account import LATER_COPY, Account, Entry, account
from blindlabel.protocol.agreement import Agreement, compare, new

_OWNER = "another owner, about your records and as much about your questions"
_COORDINATOR = "the coordinator, about outcomes of questions"
_WHO = {
    "owner that asks": _OWNER,
    "owner whose records are asked": _OWNER,
    "two owners, of a third": "two other owners together",
    "owner, of a pairing of two others": "two other owners together",
    "owner, about one record": "another owner, about any one of your records",
    "coordinator": _COORDINATOR,
    "coordinator and an owner": _COORDINATOR,
    LATER_COPY: _COORDINATOR,
    "everybody, from the agreement": "everybody, about which of your rows are sampled",
    "owner, from checked pairs": "another owner, of records that are shown to it in clear",
    "coordinator, by row numbers": "the coordinator, about which of your rows are sampled",
}
"""What whoever joins reads for each line of the account; of lines with the same name only the first is shown."""
_MORE = {
    _OWNER: " A bit is one answer, yes or no.",
    _COORDINATOR: " Together with a cheating owner it can read records: no owner should control it.",
}
_SETTINGS = (
    "encoding.engine",
    "release",
    "rounds",
    "budget.most_yes",
    "sampling.method",
    "sampling.estimates",
    "sampling.checked",
    "sampling.pilot",
)
"""The settings that the account depends on."""
_NONE = Entry("", 0, 0, "")


@dataclass(frozen=True)
class Acceptance:
    """The account of an agreement beside the default agreement's."""

    account: Account
    default: Account
    differs: str
    """The settings that differ from the default, among those that the account depends on."""

    def lines(self) -> list[str]:
        """What others can learn at most, in bits; at most six lines."""
        found, key = self._said(only_more=False), self.account.key
        said = [f"{found[who]}.{_MORE.get(who, '')}" for who in dict.fromkeys(_WHO.values()) if who in found]
        whole = f"the key over your records: a cheat learns {key.spent:,} bits of it; it can lose {key.bears:,}."
        return [line[0].upper() + line[1:] for line in (*said, self.account.unbounded or whole)]

    def weaker(self) -> list[str]:
        """What is weaker than by default, and by how much."""
        spent, before = self.account.key.spent, self.default.key.spent
        about_key = [f"a key: {spent:,} bits (by default {before:,})"] if spent > before else []
        return [*self._said(only_more=True).values(), *about_key]

    def refusal(self, yes: str) -> str:
        """Why nobody joins without agreeing to it, and how to agree."""
        return (
            f"By this agreement ({self.differs}) others can learn more of you than by the default agreement:"
            f" {'; '.join(self.weaker())}. Say {yes} where you accept that. Nothing was made or sent."
        )

    def require(self, yes: str, *, accepted: bool) -> None:
        """Refuse what is weaker and not accepted."""
        if not accepted and self.weaker():
            raise InputError(self.refusal(yes))

    def _said(self, *, only_more: bool) -> dict[str, str]:
        """The figures, by whom they are about, beside the default's if they differ."""
        before, found = {one.party: one for one in self.default.entries}, {}
        for now in reversed(self.account.entries):
            then = before.get(now.party, _NONE)
            who, is_same = _WHO.get(now.party, now.party), _sizes(now) == _sizes(then)
            if not only_more or any(one > other for one, other in zip(_sizes(now), _sizes(then))):
                found[who] = f"{who}: {_figure(now)}" + ("" if is_same else f" (by default {_figure(then)})")
        return found


def beside_default(agreement: Agreement) -> Acceptance:
    """The account of an agreement beside that of the default one, for the same owners and as many records."""
    default = new(agreement.name, agreement.owners, ("any",))
    differs = [one.partition(" here, ")[0] for one in compare(agreement, default) if one.partition(":")[0] in _SETTINGS]
    exposure = replace(exposure_of(default), records=agreement.sampling.records)  # also if no key could bear that
    return Acceptance(account_of(agreement), account(exposure), ", ".join(differs))


def _figure(entry: Entry) -> str:
    if entry.cheating == entry.honest:
        return f"{entry.honest:,} bits, cheating or not"
    return f"{entry.honest:,} bits, {'NO BOUND' if entry.cheating is None else f'{entry.cheating:,}'} if it cheats"


def _sizes(entry: Entry) -> tuple[float, float]:
    return entry.honest, inf if entry.cheating is None else entry.cheating
