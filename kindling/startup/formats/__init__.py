"""One report a file; see `kindling.startup.cli.reports` for what a file has to define."""
