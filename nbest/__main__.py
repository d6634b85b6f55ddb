"""`python -m nbest` is `nbest`."""

from nbest.cli.main import run

run()
