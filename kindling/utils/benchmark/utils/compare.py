"""Tables of measurements."""
import enum
import math

from kindling.utils.benchmark.utils import common

__all__ = ["Colorize", "Compare"]

BEST, GOOD, BAD, VERY_BAD, BOLD, TERMINATE = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m", "\033[1m", "\033[0m"


class Colorize(enum.Enum):
    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


def _colored(text, value, best):
    if value <= best * 1.01 or value <= best + 100e-9:
        return BEST + BOLD + text + TERMINATE * 2
    if value <= best * 1.1:
        return GOOD + BOLD + text + TERMINATE * 2
    if value >= best * 5:
        return VERY_BAD + BOLD + text + TERMINATE * 2
    if value >= best * 2:
        return BAD + text + TERMINATE * 2
    return text


class Compare:
    """A table of measurements: one for each label, a column for each description, a row for each sub-label and number of threads.

    >>> from torch.utils.benchmark import Compare, Measurement, TaskSpec
    >>> print(Compare([Measurement(1, [1e-5], TaskSpec("f(x)", "", label="f", description="plain"))]))
    [------- f --------]
                |  plain
    1 threads: ---------
          f(x)  |   10.0
    <BLANKLINE>
    Times are in microseconds (us).
    <BLANKLINE>
    """

    def __init__(self, results):
        self._results = []
        self.extend_results(results)
        self._trim_significant_figures = False
        self._colorize = Colorize.NONE
        self._highlight_warnings = False

    def __str__(self):
        return "\n".join(self._render())

    def extend_results(self, results):
        """Adds measurements."""
        for each in results:
            if not isinstance(each, common.Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, {type(each)} is not supported.")
        self._results.extend(results)

    def trim_significant_figures(self):
        """Shows the digits that mean something only."""
        self._trim_significant_figures = True

    def colorize(self, rowwise=False):
        """Colours by how a time compares with the best of its column, or row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self):
        """Marks times that vary much."""
        self._highlight_warnings = True

    def print(self):
        """Prints the tables."""
        print(str(self))

    def _render(self):
        groups = {}
        for each in common.Measurement.merge(self._results):
            groups.setdefault(each.label, []).append(each)
        return [self._layout(group) for group in groups.values()]

    def _decimals(self, column, scale):
        """(width, decimals) of a column of times."""
        digits = [max(1, math.ceil(math.log10(each.median / scale)) if each.median > scale else 1) if not self._trim_significant_figures else
                  math.ceil(math.log10(each.median / scale)) for each in column]
        decimals = 1
        if self._trim_significant_figures:
            decimals = max((max(each.significant_figures - own, 0) for each, own in zip(column, digits)), default=0)
        return max(max(digits), 1) + (decimals + 1 if decimals else 0), decimals

    def _layout(self, results):
        unit, scale = common.select_unit(min(each.median for each in results))
        label = results[0].label or ""
        columns = common.ordered_unique(each.description for each in results)
        envs = common.ordered_unique(each.task_spec.env or "" for each in results)
        names = common.ordered_unique(each.as_row_name for each in results)
        keys = sorted({(each.num_threads, envs.index(each.task_spec.env or ""), names.index(each.as_row_name)) for each in results})
        cells = {(each.num_threads, envs.index(each.task_spec.env or ""), names.index(each.as_row_name), each.description): each
                 for each in results}
        formats = {name: self._decimals([each for each in results if each.description == name], scale) for name in columns}
        env_width = max(map(len, envs))

        def cell(measured, name):
            if measured is None:
                return ""
            width, decimals = formats[name]
            value = measured.median / scale
            if self._trim_significant_figures:
                value = common.trim_sigfig(value, measured.significant_figures)
            text = f"{value:>{width}.{decimals}f}"
            if self._highlight_warnings and measured.has_warnings:
                text += f" (! {measured.iqr / measured.median * 100:.0f}%)"
            return text

        table = [["", *(name or "" for name in columns)]]
        former = None
        for threads, env, name in keys:
            shown = f"({envs[env]})" if envs[env] and (threads, env) != former else ""
            former = (threads, env)
            table.append([f"  {shown.ljust(env_width + 4)}{names[name]}",
                          *(cell(cells.get((threads, env, name, column)), column) for column in columns)])
        widths = [max(map(len, column)) for column in zip(*table)]
        header = "  |  ".join(each.center(width) if place else each.ljust(width) for place, (each, width) in enumerate(zip(table[0], widths)))
        overall = len(header)
        lines = [f"[{(' ' + label + ' ').center(overall - 2, '-')}]", header]
        threads_shown = None
        for (threads, env, name), row in zip(keys, table[1:]):
            if threads != threads_shown:
                lines.append(f"{threads} threads: ".ljust(overall, "-"))
                threads_shown = threads
            measured = [cells.get((threads, env, name, column)) for column in columns]
            texts = [each.rjust(width) if place else each.ljust(width) for place, (each, width) in enumerate(zip(row, widths))]
            if self._colorize is not Colorize.NONE:
                for place, each in enumerate(measured):
                    if each is None:
                        continue
                    if self._colorize is Colorize.ROWWISE:
                        rivals = [other for other in measured if other is not None]
                    else:
                        rivals = [other for key, other in cells.items() if key[0] == threads and key[3] == columns[place]]
                    texts[place + 1] = _colored(texts[place + 1], each.median, min(other.median for other in rivals))
            lines.append("  |  ".join(texts))
        lines.append("")
        lines.append(f"Times are in {common.unit_to_english(unit)}s ({unit}).")
        if self._highlight_warnings and any(each.has_warnings for each in results):
            lines.append("(! XX%) Measurement has high variance, where XX is the IQR / median * 100.")
        return "\n".join(lines) + "\n"
