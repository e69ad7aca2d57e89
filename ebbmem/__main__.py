"""`python -m ebbmem` is the command `ebbmem`."""

from ebbmem.cli import main

main()
