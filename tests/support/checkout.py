"""Makes `penstock` the one of this checkout, whether it is installed or not: import it before anything of Penstock."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

sys.path.insert(0, str(ROOT))
import penstock  # noqa: E402, F401 - the front door finds the rooms beside it

sys.path.remove(str(ROOT))
