"""The kinds of values that knobs take. Each function here turns a value from REDLINE_KNOBS into the one to apply."""

FLAGS = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}


class KnobError(ValueError):
    """A knob has a value that is not allowed; the text names the knob and says what is."""


def at_least(least):
    def number(name, value):
        if not str(value).isdigit() or int(value) < least:
            raise KnobError(f"{name} = {value!r} is not a whole number of at least {least}")
        return int(value)

    return number


def one_of(words):
    def word(name, value):
        if value not in words:
            raise KnobError(f"{name} = {value!r} is not one of {', '.join(words)}")
        return value

    return word


def on_or_off(name, value):
    if str(value).lower() not in FLAGS:
        raise KnobError(f"{name} = {value!r} is neither on nor off")
    return FLAGS[str(value).lower()]
