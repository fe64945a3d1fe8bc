"""Which owner uploads which body, in a coordinator's database, for quotas. Bodies that a study does not need any more
leave the count.
"""

from __future__ import annotations

import sqlalchemy as sa

from blindlabel.protocol.shape import Blob
from blindlabel.storage import coordinator_tables as tables
from blindlabel.storage.database import Database


class KnowsUploads:
    """The part of a coordinator's store that knows uploads."""

    database: Database

    def announce(self, study: str, owner: str, blob: Blob, most: int, most_bodies: int) -> bool:
        """An owner uploads this body; False where its uploads would then be more than so many bytes or bodies. Whoever
        announces less of it later has still used the most that was announced: its part may lie here.
        """
        mine = sa.and_(tables.upload.c.study == study, tables.upload.c.owner == owner)
        others = sa.select(sa.func.coalesce(sa.func.sum(tables.upload.c.length), 0), sa.func.count()).where(
            mine, tables.upload.c.hash != blob.hash
        )
        with self.database.write() as connection:
            length, bodies = connection.execute(others).one()
            this = sa.and_(mine, tables.upload.c.hash == blob.hash)
            before = connection.execute(sa.select(tables.upload.c.length).where(this)).scalar() or 0
            if length + max(before, blob.length) > most or bodies >= most_bodies:
                return False
            connection.execute(tables.upload.delete().where(this))
            row = {"study": study, "owner": owner, "hash": blob.hash, "length": max(before, blob.length)}
            connection.execute(tables.upload.insert().values(**row))
        return True
