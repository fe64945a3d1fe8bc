"""Confirming another owner: words that are read out here, and words that were heard and typed. Nothing is sampled,
encrypted, asked, handed in or opened before.
"""

from __future__ import annotations

import re

from blindlabel.envelope import study_hash, verification_words
from blindlabel.envelope.spoken_words import COUNT
from blindlabel.errors import InputError
from blindlabel.parties.joining import own_identity, signed_by
from blindlabel.parties.rounds import public_of
from blindlabel.protocol import owner as rules
from blindlabel.protocol.interfaces import Store


def words_to_read_out(store: Store, peer: str) -> tuple[str, ...]:
    """What this owner's person reads to the other's."""
    return _words(store, peer, spoken_here=True)


def confirm_heard(store: Store, peer: str, heard: str) -> None:
    """Confirm another owner by the words that its person read out; refused where they are others."""
    typed = re.findall(r"[a-z]+", heard.lower())
    if len(typed) != COUNT:
        raise InputError(f"{peer} reads out {COUNT} words; these are {len(typed)}. Nothing was confirmed.")
    if tuple(typed) == words_to_read_out(store, peer):
        raise InputError(
            f"These are the words that you read to {peer}. Type those that {peer} reads to you. Nothing was confirmed."
        )
    if tuple(typed) != _words(store, peer, spoken_here=False):
        raise InputError(
            f"These are not the words that {peer} would read out if nobody stood between you. Nothing was confirmed."
            " Let them be read once more, in case one was misheard; if they differ again, do not go on."
        )
    confirm_unheard(store, peer)


def confirm_unheard(store: Store, peer: str) -> None:
    """Confirm without words, where all parties are one: rehearsals, demonstrations and simulations."""
    identity = own_identity(store)
    store.change(lambda state: rules.confirms(state, peer), lambda message: signed_by(identity, message))


def _words(store: Store, peer: str, *, spoken_here: bool) -> tuple[str, ...]:
    state = store.state()
    own, other = own_identity(store).public, public_of(state.peer(peer))
    study = study_hash(store.agreement.hash, state.coordinator_key)
    return verification_words(own, other, study) if spoken_here else verification_words(other, own, study)
