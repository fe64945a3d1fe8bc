"""All parties of a study in one process, with a seeded scheduler and faults; for tests and for whoever wants to try to
break the protocol.

`schedule.run(seed)` plays one study and says what went wrong. The same seed gives the same schedule. The parties are
the product's own (`parties.Owner`, `parties.Coordinator`), over a faulty network, with stores in memory (thousands of
schedules) or with their databases and files.

Nothing here is used by a real study, and chance here is `random`, which is no source of secrets.
"""
