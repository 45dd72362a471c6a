"""Names of torch itself that are neither operators nor submodules, by subject."""
