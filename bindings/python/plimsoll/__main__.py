"""The command line: python -m plimsoll"""
import signal
import sys


def main() -> int:
    # As the program itself: Ctrl-C and a closed pipe end it at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    from plimsoll import _native
    return _native.command_line(["plimsoll", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
