"""The relative-entropy step: dual, Newton, commit, safe path."""
