"""Entry of the process that runs one instance of a Python model. Speaks with the server on file descriptor 3 and nothing else."""

import sys

if __name__ == "__main__":
    try:
        import numpy  # noqa: F401
    except ImportError as error:
        print("numpy is missing: %s" % error, file=sys.stderr)
        sys.exit(73)
    from weir_stub.main import main

    main()
