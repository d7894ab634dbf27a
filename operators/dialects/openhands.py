"""OpenHands, for models without native calls: one call, whose end a stop word has often cut."""

from ..dialect import Dialect, Maybe
from .parts import FUNCTION

OPENHANDS = Dialect("openhands", (*FUNCTION, Maybe("</function>")), layout="\n")
