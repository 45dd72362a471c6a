"""What ``torch.compile(fullgraph=True)`` refuses: a step that PyTorch's compiler could not take into one graph.

bindings/compiled.cpp calls these where such a call is open, and before the step is taken.
"""
import linecache
import sys

from kindling._dynamo.exc import Unsupported


def frames_of_program(frame):
    """The frames from this one out to the first that is the program's own, which is the last."""
    frames = [frame]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __name__.partition(".")[0]:
        frame = frame.f_back
        frames.append(frame)
    return frames


def _user_code():
    """The line of the program that led here, as a traceback shows it, and those of ours that it called."""
    lines = []
    for frame in reversed(frames_of_program(sys._getframe(3))):
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno, frame.f_globals).strip()
        lines.append(f'  File "{frame.f_code.co_filename}", line {frame.f_lineno}, in {frame.f_code.co_name}\n' + (f"    {line}\n" if line else ""))
    return "".join(lines)


def _unsupported(title, explanation, hint):
    return Unsupported(f"{title}\n  Explanation: {explanation}\n  Hint: {hint}\n\nfrom user code:\n {_user_code()}")


def _branches(frame):
    """Whether the frame decides by the value how it goes on: not if it calls `bool` or `max`, and not in an `assert`, which PyTorch's
    compiler makes a step of the graph."""
    import dis
    now, *ahead = [each.opname for each in dis.get_instructions(frame.f_code) if each.offset >= frame.f_lasti and each.opname != "CACHE"][:3]
    if now == "TO_BOOL":            # from CPython 3.13 on, in front of the jump
        now, ahead = ahead[0], ahead[1:]
    asserts = now.endswith("IF_TRUE") and ahead[:1] == ["LOAD_ASSERTION_ERROR"]
    return not asserts and ("JUMP" in now or now == "UNARY_NOT")


def refuse_branch(tensor):
    frame = sys._getframe(1)
    ours = frame.f_globals.get("__name__", "").partition(".")[0] == __name__.partition(".")[0]      # what distributions check, for example
    if not ours and _branches(frame):
        raise _unsupported("Data-dependent branching",
                           "Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`): the value of a tensor decides how the program goes on.",
                           "Use `torch.where` or `torch.cond` to express dynamic control flow, or leave out fullgraph=True: the value is then computed there.")


def refuse_index(tensor):
    raise _unsupported("Data-dependent index", "A list or tuple was indexed with a tensor, whose value is not known while the graph is made.",
                       "Stack the items to one tensor and index that.")


def refuse_list(tensor):
    raise _unsupported("Tensor.tolist() with non-integer tensor", "`tolist()` of floating-point numbers leaves the graph.",
                       "Compute with tensors, or leave out fullgraph=True.")


def refuse_text(tensor):
    raise _unsupported("repr() on tensor", "Tensor repr requires actual runtime values which are not available while the graph is made.",
                       "Print outside of the compiled function, or leave out fullgraph=True.")


def refuse_apart(function):
    raise _unsupported("Skip calling `torch.compiler.disable()`d function",
                       f"`{function}` was wrapped with `torch.compiler.disable`, so it is no part of a graph.", "Remove the `torch.compiler.disable` call")


def refuse_wish(msg):
    raise _unsupported("Call to `torch._dynamo.graph_break()`", f"User-inserted graph break. Message: {msg or None}",
                       "Remove the `torch._dynamo.graph_break()` call.")
