"""A model edits a Tensile configuration round by round; Tensile measures."""
