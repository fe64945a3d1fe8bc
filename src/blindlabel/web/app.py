"""What all tabs of one app share: the workspace and its cache, verdicts and suggestions, uploads."""

from __future__ import annotations

import threading

from blindlabel.export import GroundTruth
from blindlabel.export.studies import truths_of_owner
from blindlabel.storage.workspace import Workspace
from blindlabel.web.cached_workspace import CachedWorkspace
from blindlabel.web.judging import Judging
from blindlabel.web.seats import Seat
from blindlabel.web.uploads import Uploads


class OwnerApp:
    """One app over one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.cache = CachedWorkspace(workspace)
        self.judging = Judging(workspace)
        self.uploads = Uploads()
        self._judged = -1
        self._judging_now = threading.Lock()

    def seat(self, name: str) -> Seat:
        """One person who annotates."""
        return Seat(self.cache, self.judging, name)

    def truths(self) -> dict[str, GroundTruth]:
        """After the end: the ground truth with every other owner; empty while its labels are still on their
        way, and where the agreement releases none.
        """
        truth = self.cache.state.truth
        if truth is None or self.workspace.agreement.release == "none":
            return {}
        if not all(self.workspace.bodies.has(pairing.labels) for pairing in truth.pairings):
            return {}
        return truths_of_owner(self.workspace)

    def prepare(self) -> None:
        """Read the table and judge all saved questions, in a thread beside."""

        def work() -> None:
            self.judging.warm_up()
            self.judge_saved()

        threading.Thread(target=work, daemon=True).start()

    def judge_saved(self) -> None:
        """Come to know the verdicts about all saved questions of the round."""
        with self._judging_now:
            if self._judged == self.cache.edition:
                return
            self._judged = self.cache.edition
            questions = [(task.record, task.question) for task in list(self.cache.tasks.values())]
            questions += [(task.record, task.question) for task in list(self.cache.seconds.values())]
            self.judging.judge_all((self.cache.record(record), text) for record, text in questions if text is not None)
