"""What no path of a call may be, on any system: `why_refused`, `names_of` and `fold`."""

from __future__ import annotations

import re
import unicodedata

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


def names_of(path: str) -> tuple[str, ...]:
    return tuple(name for name in path.split("/") if name not in ("", "."))


def why_refused(path: str) -> str | None:
    """Return why no file below the root may have this path, whatever is there; None if nothing is wrong with it.

    >>> why_refused("src/./app.py"), why_refused("a/../b")
    (None, "'..' leads out of a folder")
    """
    names = names_of(path)
    if (why := _whole(path)) is not None:
        return why
    if not names:
        return "it names no file"
    return next((why for name in names if (why := _of_name(name)) is not None), None)


def fold(name: str) -> str:
    """Return what names have in common that are one name on some systems.

    >>> fold(".GIT") == fold(".git"), fold("re\u0301sume\u0301") == fold("R\u00c9SUM\u00c9")
    (True, True)
    """
    if name.isascii():  # what the long way does, for the many names of a folder
        return name.lower().rstrip(". ")
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


def _of_name(name: str) -> str | None:  # noqa: PLR0911 - one line for each rule
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
    return None
