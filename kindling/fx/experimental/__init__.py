"""Less settled passes."""
