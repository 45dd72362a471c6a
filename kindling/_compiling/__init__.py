"""Behind torch.compile: what is put off, what a backend of the program's own gets, what fullgraph refuses."""
