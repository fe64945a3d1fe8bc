"""The rules of a study and its messages. Nothing here reads a file, opens a connection or asks the clock.

- `agreement`: what the parties agreed on, as a file a person can read and as a hash that every message names;
- `messages`: what is said, by whom, to whom; encoding, signatures, limits;
- `coordinator` and `owner`: what a party knows, what a message adds to that, what follows;
- `labels`, `figures`, `sampling`: the arithmetic of rounds, of agreement, and of choosing records;
- `errors`: what can be wrong with a message.
"""
