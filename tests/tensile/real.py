"""What a real Tensile wrote: a folder `shared/data/tensile` beside or above the checkout, where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest

_PLACES = [above / "shared" / "data" / "tensile" for above in Path(__file__).parents[2:]]
DATA = next((place for place in _PLACES if (place / "real-runs").is_dir()), Path())
needs_data = pytest.mark.skipif(Path() == DATA, reason="needs shared/data/tensile, what a real Tensile wrote")
