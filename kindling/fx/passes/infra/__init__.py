"""The frame of passes."""
