"""The history of the databases' tables, one folder for each kind of database, run by `storage.upgrading` through
Alembic.

A revision is never changed once it has been released; a change of `coordinator_tables` or `workspace_tables` adds one.
Tests compare what the revisions build with those tables, on SQLite and on PostgreSQL.
"""
