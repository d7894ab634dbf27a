"""`confined_path`: the names that lead from the root to a file, or the reason why a path is refused."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from ..edits.refused import RefusedError

NAME_BYTES = 255
PATH_BYTES = 4096
DEPTH = 64
TEMPORARY = re.compile(r"\.penstock-[0-9a-f]{16}\.tmp", re.IGNORECASE)
"""The names of temporary files, which no call may write."""

_DEVICES = re.compile(
    r"(?:con|prn|aux|nul|clock\$|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])\s*(?:\..*)?", re.IGNORECASE
)
"""Names that are devices on Windows, with any extension."""
_IGNORED = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Unicode's Default_Ignorable_Code_Point: file systems that fold case may leave these out of a name."""
_SHORT_NAME = re.compile(r"([^.~]{1,6})~[0-9]+(?:\..{0,3})?")
"""Names that Windows makes for long ones: GIT~1 may be .git."""


def confined_path(path: object, *, protected: Collection[str] = (".git",)) -> tuple[str, ...]:
    r"""Return the names of the folders and of the file, below the root.

    >>> confined_path("src/./app.py")
    ('src', 'app.py')
    >>> confined_path("../app.py")
    Traceback (most recent call last):
    penstock.sinks.files.edits.refused.RefusedError: the path '../app.py' is refused: '..' leads out of a folder

    Rules that only hold on some systems count on all, so that a tree written here can be used elsewhere. Raises
    `RefusedError` for everything else: absolute paths, drives and streams of Windows, devices, names that are too long.
    `protected`: names that no part of the path may have, in whatever case or form.
    """
    if not isinstance(path, str):
        message = f"the path is refused: it must be a string, not {type(path).__name__}"
        raise RefusedError(message)
    why = _whole(path)
    names = tuple(name for name in path.split("/") if name not in ("", "."))
    if why is None and not names:
        why = "it names no file"
    folded = {fold(name) for name in protected}
    for name in names if why is None else ():
        why = why or _of_name(name, folded)
    if why is not None:
        shown = path if len(path) <= 100 else f"{path[:60]}…{path[-20:]}"
        message = f"the path {shown!r} is refused: {why}"
        raise RefusedError(message)
    return names


def fold(name: str) -> str:
    """Return what names have in common that are one name on some systems.

    >>> fold(".GIT") == fold(".git"), fold("re\u0301sume\u0301") == fold("R\u00c9SUM\u00c9")
    (True, True)
    """
    shown = _IGNORED.sub("", "".join(each for each in name if unicodedata.category(each) != "Cf"))
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", shown).casefold()).rstrip(". ")


def _whole(path: str) -> str | None:
    if not path.strip():
        return "it is empty"
    if path.startswith("/"):
        return "it must be relative to the root"
    if path.startswith("~"):
        return "'~' is not a folder here; the path must be relative to the root"
    if path.endswith("/"):
        return "it names a folder"
    if "\\" in path:
        return "it has a backslash; write '/' between folders"
    try:
        length = len(path.encode())
    except UnicodeEncodeError:
        return "it has half of a surrogate pair"
    if length > PATH_BYTES:
        return f"it has more than {PATH_BYTES} bytes"
    return f"it has more than {DEPTH} folders" if path.count("/") > DEPTH else None


def _of_name(name: str, protected: Collection[str]) -> str | None:  # noqa: PLR0911 - one line for each rule
    if name == "..":
        return "'..' leads out of a folder"
    if unseen := next((each for each in name if unicodedata.category(each) in ("Cc", "Cf", "Zl", "Zp", "Co")), None):
        return f"it has the invisible character U+{ord(unseen):04X}"
    if ":" in name:
        return "it has a colon, as drives and streams of Windows have"
    if name[-1] in ". ":
        return f"{name!r} ends in a dot or a blank, which some systems drop"
    if _DEVICES.fullmatch(name):
        return f"{name!r} is a device on Windows"
    if len(name.encode()) > NAME_BYTES:
        return f"a name has more than {NAME_BYTES} bytes"
    if TEMPORARY.fullmatch(name):
        return f"{name!r} is the name of a temporary file"
    if not fold(name) or unicodedata.normalize("NFKC", name) == ".." or "/" in unicodedata.normalize("NFKC", name):
        return f"{name!r} is another path where names are normalised"
    short = _SHORT_NAME.fullmatch(fold(name))
    if fold(name) in protected or (short and any(each.strip(".").startswith(short[1]) for each in protected)):
        return f"{name!r} is protected"
    return None
