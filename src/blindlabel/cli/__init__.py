"""The command line: one file a command. Nothing here decides anything; commands read, call, and print."""
