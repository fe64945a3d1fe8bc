"""What Alembic runs for every upgrade: the revisions, on the connection and in the transaction of
`storage.upgrading`.
"""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"], render_as_batch=True)
context.run_migrations()
