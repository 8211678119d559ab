"""The sizes of a first draft: to be timed, for tests and for the emulator."""
