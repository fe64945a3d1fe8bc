"""Bodies in a folder and outside it: whole or not there, continued by whoever goes on, plaintext never outside."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest

from blindlabel.errors import InputError, OutsideError
from blindlabel.protocol.shape import blob_of
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.files import BodyDamaged, BodyFiles, WrongOffset
from blindlabel.storage.object_store import BodiesInObjectStore, ObjectStore

CONTENT = bytes(range(256)) * 5000
BLOB = blob_of(CONTENT)
STUDY = "ab" * 32
Open = Callable[[], BodyFiles]


@pytest.fixture(params=["folder", "file", "memory"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Opens the same bodies again and again, as several processes do."""
    if request.param == "folder":
        return lambda: BodyFiles(tmp_path / "bodies")
    url = f"file://{tmp_path}/objects" if request.param == "file" else f"memory://{tmp_path.name}"
    return lambda: BodiesInObjectStore(tmp_path / "bodies", tmp_path / "made", ObjectStore(url), STUDY)


def _pieces(content: bytes = CONTENT, size: int = 100_000) -> list[bytes]:
    return [content[at : at + size] for at in range(0, len(content), size)]


def test_body_is_continued_by_another_process_and_read_from_any_byte(opened: Open) -> None:
    here = 0
    for piece in _pieces():
        assert opened().received(BLOB) == here
        assert not opened().has(BLOB)
        here = opened().append(BLOB, here, [piece])
    assert opened().has(BLOB) and opened().received(BLOB) == BLOB.length
    assert b"".join(opened().read(BLOB)) == CONTENT and opened().read_all(BLOB) == CONTENT
    assert b"".join(opened().read(BLOB, 1_234_567)) == CONTENT[1_234_567:]
    assert opened().append(BLOB, BLOB.length, []) == BLOB.length, "the last part again, because its reply was lost"
    opened().remove(BLOB)
    opened().remove(BLOB)
    assert not opened().has(BLOB)
    with pytest.raises(OutsideError, match="missing"):
        opened().read_all(BLOB)


def test_piece_at_another_place_is_refused_with_the_place_to_go_on(opened: Open) -> None:
    opened().append(BLOB, 0, [CONTENT[:1000]])
    for offset in (0, 999, 1001):
        with pytest.raises(WrongOffset) as caught:
            opened().append(BLOB, offset, [b"x"])
        assert caught.value.received == 1000


def test_damaged_body_is_thrown_away_and_can_be_sent_again(opened: Open) -> None:
    with pytest.raises(BodyDamaged):
        opened().append(BLOB, 0, [CONTENT[:-1] + b"?"])
    assert opened().received(BLOB) == 0
    assert opened().append(BLOB, 0, [CONTENT]) == BLOB.length


def test_body_whose_check_was_interrupted_is_completed_by_an_empty_piece(opened: Open) -> None:
    bodies = opened()
    (bodies.folder / f"{BLOB.hash}.part").write_bytes(
        CONTENT
    )  # all bytes are there; the process died before it could check them
    assert opened().received(BLOB) == BLOB.length and not opened().has(BLOB)
    opened().append(BLOB, BLOB.length, [])
    assert opened().has(BLOB)


def test_senders_of_the_same_body_at_once_do_not_mix_their_pieces(opened: Open) -> None:
    failures: list[BaseException] = []
    start = threading.Barrier(6)

    def send() -> None:
        try:
            start.wait()
            here = 0
            while here < BLOB.length:
                try:
                    here = opened().append(BLOB, here, [CONTENT[here : here + 50_000]])
                except WrongOffset as elsewhere:
                    here = elsewhere.received
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=send) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert opened().read_all(BLOB) == CONTENT
    assert [path.name for path in opened().folder.glob("*.part")] == []


def test_empty_body_arrives_too(opened: Open) -> None:
    empty = blob_of(b"")
    assert not opened().has(empty)
    assert opened().append(empty, 0, []) == 0
    assert opened().has(empty) and opened().read_all(empty) == b""


def test_what_the_coordinator_makes_stays_in_its_folder(tmp_path: Path) -> None:
    bodies = BodiesInObjectStore(
        tmp_path / "bodies", tmp_path / "made", ObjectStore(f"file://{tmp_path}/objects"), STUDY
    )
    labels = bodies.write([b"labels in clear"])
    bodies.append(BLOB, 0, [CONTENT])
    assert [path.name for path in (tmp_path / "objects" / STUDY).iterdir()] == [BLOB.hash]
    assert [path.name for path in (tmp_path / "made").iterdir()] == [labels.hash]
    bodies.remove_all()
    assert not (tmp_path / "objects" / STUDY).exists() and not (tmp_path / "made").exists()
    bodies.remove_all()


def test_body_that_was_put_in_part_counts_as_not_there(tmp_path: Path) -> None:
    bodies = BodiesInObjectStore(
        tmp_path / "bodies", tmp_path / "made", ObjectStore(f"file://{tmp_path}/objects"), STUDY
    )
    (tmp_path / "objects" / STUDY).mkdir(parents=True)
    (tmp_path / "objects" / STUDY / BLOB.hash).write_bytes(CONTENT[:5000])
    assert not bodies.has(BLOB)
    bodies.append(BLOB, 0, [CONTENT])
    assert bodies.read_all(BLOB) == CONTENT


def test_place_for_bodies_is_known_to_every_process_and_old_bodies_stay_readable(
    tmp_path: Path, database: str | None
) -> None:
    first = CoordinatorStore(tmp_path / "coordinator", database)
    assert first.bodies_url is None
    first.bodies(STUDY).append(BLOB, 0, [CONTENT])
    first.keep_bodies_at(f"memory://{tmp_path.name}")
    first.database.close()
    second = CoordinatorStore(tmp_path / "coordinator", database)
    assert second.bodies_url == f"memory://{tmp_path.name}"
    assert second.bodies(STUDY).read_all(BLOB) == CONTENT
    more = blob_of(b"more")
    second.bodies(STUDY).append(more, 0, [b"more"])
    assert fsspec.filesystem("memory").cat_file(f"/{tmp_path.name}/{STUDY}/{more.hash}") == b"more"
    second.database.close()


@pytest.mark.parametrize(
    ("url", "sentence"), [("nosuch://place", "cannot be used"), ("ftp://me:secret@host/place", "holds a password")]
)
def test_url_that_cannot_be_used_is_told(url: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        ObjectStore(url)
    assert "secret" not in str(caught.value)


def test_place_that_fails_is_a_sentence_without_details(tmp_path: Path) -> None:
    (tmp_path / "objects").write_text("a file stands where the folder should be")
    bodies = BodiesInObjectStore(
        tmp_path / "bodies", tmp_path / "made", ObjectStore(f"file://{tmp_path}/objects"), STUDY
    )
    with pytest.raises(OutsideError, match="The place for bodies at"):
        bodies.append(BLOB, 0, [CONTENT])
    (tmp_path / "objects").unlink()
    assert bodies.received(BLOB) == 0
    bodies.append(BLOB, 0, [CONTENT])
    assert bodies.has(BLOB)
