"""AMD's MIOpen: not in this build.  Its switch is kept, so that programs may set it."""

immediate = False
