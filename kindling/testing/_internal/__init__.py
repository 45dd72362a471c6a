"""Helpers of PyTorch's own tests, as far as other projects' suites import them."""
