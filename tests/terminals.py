"""What a program prints on a terminal of the test's."""

import os


def read_to_end(leader: int) -> str:
    """All that is printed on the terminal *leader*, which is then closed."""
    printed = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # the program's side is closed
            part = b""
        if not part:
            break
        printed += part
    os.close(leader)
    return printed.decode().replace("\r", "")  # a terminal's own line ends
