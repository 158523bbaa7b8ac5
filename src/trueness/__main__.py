"""``python -m trueness`` is the command line."""

from trueness_start import main

main()
