"""The error of a checkpoint."""


class CheckpointException(BaseException):
    """What went wrong, by rank: (the error, its traceback)."""

    def __init__(self, msg, failures):
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self):
        return self._failures

    def __str__(self):
        import traceback
        return "\n".join([f"CheckpointException ranks:{self._failures.keys()}"] + [
            f"{''.join(traceback.format_list(where))}(RANK {rank})\n{''.join(traceback.format_exception_only(type(error), error))}"
            for rank, (error, where) in self._failures.items()])
