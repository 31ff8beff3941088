"""`python -m groupwise` is the command."""

from groupwise.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
