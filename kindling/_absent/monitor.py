"""Names of torch.monitor, written by tools/surface.py."""
TABLE = r"""
monitor/ Aggregation{VALUE=0;MEAN=2;COUNT=3;SUM=4;MAX=5;MIN=6} COUNT@_C._monitor Event:*data,*name,*timestamp EventHandlerHandle MAX@_C._monitor MEAN@_C._monitor MIN@_C._monitor STAT_EVENT='torch.monitor.Stat' SUM@_C._monitor Stat:add,*count,get,*name TYPE_CHECKING=False TensorboardEventHandler VALUE@_C._monitor data_value_t log_event() register_event_handler() unregister_event_handler()
"""  # noqa: E501
