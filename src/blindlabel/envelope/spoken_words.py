"""Verification words: what two owners read to each other by telephone to know that nobody stands between them.

Each owner reads twelve words to the other, who types what it hears; its own screen does not show those, so confirming
needs a conversation. Both lists stand for the same keys.

The coordinator relays the owners' public keys and could give each owner a key that it made itself. The words are
derived from the four keys that an owner sees (its own two and the peer's two), the agreement and the coordinator's two
keys; they are what the other side expects exactly if both see the same.

How strong: twelve words of 256 are 96 bits. A coordinator in the middle may vary the keys it shows to *both* sides
until the two results meet, so it needs only the square root, 2^48 tries, not 2^96. Each try is therefore one run of
Argon2id over 64 MiB, salted with the agreement so that nothing can be worked out before the study: at a tenth of a
second each, 2^48 tries are some 900,000 core-years. Comparing fewer words gives up some of that protection: four bits
of work for every word left out.

The list is our own: 256 common words of four to seven letters, no two alike in the first three letters, none within
edit distance two of another, none with the same phonetic code (NYSIIS, Metaphone); a test holds it to that.
"""

from __future__ import annotations

from functools import lru_cache

from nacl.pwhash import argon2id

from blindlabel.envelope.identity import PublicIdentity, blake2b

COUNT = 12
"""Words that each of two owners reads to the other: 8 bits each."""

PASSES = 3
MEMORY = 64 * 1024 * 1024
"""The cost of one derivation (Argon2id). Part of the format: other values give other words."""

WORDS = tuple(
    """
    abacus acorn adobe agenda airport album almond amber anchor antler apple apron armour artist aspen atlas attic
    autumn avenue badge bagpipe bakery bamboo banjo barrel basket bazaar beacon bedrock beetle bell bench berry
    bicycle bishop blossom boat bonfire border bread bronze brush bubble buffalo butter cabin cactus camel candle
    captain carpet cement chalk chimney cider cinema circus cliff clover coconut coffee copper coral cotton cousin
    coyote crayon cricket crystal cymbal dagger daisy decade denim desert diamond diesel dinner dolphin donkey
    drawer drum duchess dungeon dwarf eagle echo editor elbow empire engine epoch errand fabric falcon family farmer
    fiddle fifty figure fjord flute forest fossil fridge fruit fungus galaxy garden geyser ghost giant goblet gold
    grape guitar gypsum helmet hotel husky hyena igloo image indigo infant insect island ivory jaguar jigsaw jungle
    jury kayak kiosk kiwi koala ladder lagoon laptop lawn lemon lilac lizard locket lotus lyric magnet marble meadow
    medal milk mirror mitten mosaic muffin museum napkin navy nectar ninety noodle north nugget nutmeg nylon oasis
    object ocean office olive onion opera orange orchid outfit oxygen palace paper parrot pencil pickle pigeon
    pillow planet poem polar poppy potato prism puppet puzzle python quartz queen quiver quota rabbit radio raft
    raven razor recipe relay remedy rescue ribbon rifle roof rubber safari sailor sandal saturn school second senate
    sierra signal silver siren smoke snail soccer soup sugar sunset swan talent teapot temple tennis topaz tower
    tulip tunnel tuxedo update vacuum valley vase violin voyage waffle walnut weasel wicker widow wigwam yacht yard
    yucca zebra zenith zigzag zinc zodiac
    """.split()  # noqa: SIM905 (256 quoted words would be unreadable)
)


def study_hash(agreement: str, coordinator_key: str) -> bytes:
    """What the words stand for besides the owners' keys: the agreement and the coordinator."""
    return blake2b(bytes.fromhex(agreement) + bytes.fromhex(coordinator_key), b"blindlabel-study")


def verification_words(speaker: PublicIdentity, listener: PublicIdentity, study: bytes) -> tuple[str, ...]:
    """The words that one owner reads to another in this study (`study_hash`), as both of them derive them."""
    first, second = sorted((speaker.to_bytes(), listener.to_bytes()))
    derived = _derived(first, second, study)
    own = derived[:COUNT] if speaker.to_bytes() == first else derived[COUNT:]
    return tuple(WORDS[byte] for byte in own)


@lru_cache(maxsize=64)
def _derived(first: bytes, second: bytes, study: bytes) -> bytes:
    """The bytes from which both owners' words are made. This takes a tenth of a second, on purpose, so it is
    done once.
    """
    salt = blake2b(study, b"blindlabel-words")[: argon2id.SALTBYTES]
    return argon2id.kdf(2 * COUNT, study + first + second, salt, opslimit=PASSES, memlimit=MEMORY)
