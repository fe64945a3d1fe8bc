"""The command line: one file a command. Nothing here decides anything; commands read, call, and print."""

import os

# A party's processes share the machine: matrix products with a thread for every core would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
