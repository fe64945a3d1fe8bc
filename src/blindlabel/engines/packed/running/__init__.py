"""What needs SEAL and keys: encryption, evaluation over batches and groups, opening, and all of it as an engine."""
