"""``python -m wolfpack`` is the command ``wolfpack``."""

from __future__ import annotations

from _wolfpack_start import main

if __name__ == "__main__":
    main()
