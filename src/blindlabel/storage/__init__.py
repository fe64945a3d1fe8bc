"""What is kept on disk: databases (SQLite, or PostgreSQL by its address), large bodies as files, secret keys. No rules
of the protocol here."""
