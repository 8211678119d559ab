"""A session in which a model edits a Tensile configuration, with the same journal, plan and panes as a kernel's."""
