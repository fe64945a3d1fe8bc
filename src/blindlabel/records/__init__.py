"""Tables of records: reading them, preparing their text the same way on both sides, and making synthetic ones."""
