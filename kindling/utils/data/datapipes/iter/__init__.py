"""Ready-made pipes that are gone through in order."""
import kindling as _kindling

__all__ = ["Batcher", "Collator", "Concater", "Demultiplexer", "FileLister", "FileOpener", "Filter", "Forker", "Grouper", "IterableWrapper",
           "Mapper", "Multiplexer", "RoutedDecoder", "Sampler", "ShardingFilter", "Shuffler", "StreamReader", "UnBatcher", "Zipper"]

_HOMES = {"Collator": "callable:CollatorIterDataPipe", "Mapper": "callable:MapperIterDataPipe",
          "Sampler": "combinatorics:SamplerIterDataPipe", "Shuffler": "combinatorics:ShufflerIterDataPipe",
          "Concater": "combining:ConcaterIterDataPipe", "Demultiplexer": "combining:DemultiplexerIterDataPipe",
          "Forker": "combining:ForkerIterDataPipe", "Multiplexer": "combining:MultiplexerIterDataPipe",
          "Zipper": "combining:ZipperIterDataPipe", "FileLister": "filelister:FileListerIterDataPipe",
          "FileOpener": "fileopener:FileOpenerIterDataPipe", "Batcher": "grouping:BatcherIterDataPipe",
          "Grouper": "grouping:GrouperIterDataPipe", "UnBatcher": "grouping:UnBatcherIterDataPipe",
          "RoutedDecoder": "routeddecoder:RoutedDecoderIterDataPipe", "Filter": "selecting:FilterIterDataPipe",
          "ShardingFilter": "sharding:ShardingFilterIterDataPipe",
          "StreamReader": "streamreader:StreamReaderIterDataPipe",
          "IterableWrapper": "utils:IterableWrapperIterDataPipe"}
_SUBMODULES = ("callable", "combinatorics", "combining", "filelister", "fileopener", "grouping", "routeddecoder",
               "selecting", "sharding", "streamreader", "utils")

__getattr__, __dir__ = _kindling._lazy_parts(globals(), _HOMES, _SUBMODULES)
