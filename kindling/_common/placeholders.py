"""What PyTorch has for hardware and machinery that is not here: classes for annotations, isinstance, subclasses and except clauses,
and functions that can be handed on. To make an object or to call one raises."""


def classes(module, names, error, text):
    """{name: class} for each "Name" or "Name(Base)", bases first. Making one raises error(text), {name} in it being the class's."""
    made = {}
    for each in names.split():
        name, _, base = each.rstrip(")").partition("(")
        own = text.format(name=name)

        def __init__(self, *args, _text=own, **kwargs):
            raise error(_text)

        made[name] = type(name, (made[base],) if base else (), {"__init__": __init__, "__module__": module, "__doc__": "There is none in this build."})
    return made


def errors(module, names):
    """{name: class} of exceptions that nothing here raises, bases first; the first ones are RuntimeErrors."""
    made = {}
    for each in names.split():
        name, _, base = each.rstrip(")").partition("(")
        made[name] = type(name, (made.get(base, RuntimeError),), {"__module__": module})
    return made


def function(module, name, error, text):
    """A function of that name; a call raises error(text)."""
    def refuse(*args, **kwargs):
        raise error(text)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__module__ = module
    return refuse
