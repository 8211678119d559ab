"""A benchmark configuration as a document: read, counted, judged and edited without losing a comment."""
