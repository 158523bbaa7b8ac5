"""``python -m trueness`` is the command line."""

from trueness.cli._start import main

main()
