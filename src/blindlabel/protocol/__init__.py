"""The rules of a study and its messages. Nothing here reads a file, opens a connection or looks at the clock.

- `agreement`: what the parties agreed on, as a file that people can read and as a hash that every message names;
- `messages`: what is said, by whom, to whom; encoding, signatures, limits;
- `coordinator_rules` and `owner_rules`: what a party knows, what a message adds to that, and what follows;
- `labels`, `figures`, `sampling`: the arithmetic of rounds, of agreement, and of choosing records;
- `refusals`: what can be wrong with a message.
"""
