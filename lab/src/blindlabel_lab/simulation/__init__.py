"""All parties of a study in one process, with a seeded scheduler and faults; for tests and for whoever wants to try to
break the protocol.

`schedule.run(seed)` plays one study and says what went wrong. The same seed gives the same schedule. Two levels share
scheduler, faults and judge: `core_parties` runs the protocol's rules over a disk in memory (thousands of schedules a
minute), `real_parties` runs the parties that users run, with their databases, files and engine, over the same faulty
network.

Nothing here is used by a real study, and chance here is `random`, which is no source of secrets.
"""
