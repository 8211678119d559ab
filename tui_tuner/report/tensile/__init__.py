"""What a Tensile session leaves behind: result.json, report.md, the edited configuration and the winners alone."""
