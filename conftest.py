"""What pytest must know before it begins."""

from __future__ import annotations

import signal
from importlib.util import find_spec

# modules whose optional dependency is not installed are not imported
collect_ignore_glob = [] if find_spec("sklearn") else ["src/wolfpack/estimators/*"]

# a shell ignores Ctrl-C for what it starts in the background, and so would all that tests start
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
