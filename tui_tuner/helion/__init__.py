"""This program as an autotuner of Helion: our session chooses, Helion builds and times.

    import tui_tuner.helion

    @helion.kernel(autotuner_fn=tui_tuner.helion.autotune)

Importing it also adds `TunerTuiSearch` to what HELION_AUTOTUNER may name.
"""

try:
    from tui_tuner.python_kernels.helion_plug_in import NAME, TunerTuiSearch, autotune
except ImportError as error:
    if (error.name or "").startswith("tui_tuner"):
        raise
    raise ImportError(f"tui_tuner.helion needs Helion ({error}): pip install 'tuner-tui[helion]'") from error

__all__ = ["NAME", "TunerTuiSearch", "autotune"]
