"""``torch._dynamo.backends``: what backends are made of."""
