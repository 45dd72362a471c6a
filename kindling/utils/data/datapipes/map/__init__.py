"""Ready-made pipes whose samples have an index."""
import kindling as _kindling

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]

_HOMES = {"Mapper": "callable:MapperMapDataPipe", "Shuffler": "combinatorics:ShufflerIterDataPipe",
          "Concater": "combining:ConcaterMapDataPipe", "Zipper": "combining:ZipperMapDataPipe",
          "Batcher": "grouping:BatcherMapDataPipe", "SequenceWrapper": "utils:SequenceWrapperMapDataPipe"}
__getattr__, __dir__ = _kindling._lazy_parts(globals(), _HOMES, ("callable", "combinatorics", "combining", "grouping", "utils"))
