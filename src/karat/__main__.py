"""``python -m karat`` is the command line."""

from karat_start import main

main()
