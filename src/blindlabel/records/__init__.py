"""Tables of records: reading them, preparing their text alike on both sides, and making synthetic ones."""
