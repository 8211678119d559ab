"""The templates of the prompts of a Tensile session."""
