"""Names of torch.monitor, written by tools/surface.py."""
TABLE = r"""
monitor/ Aggregation{VALUE=0;MEAN=2;COUNT=3;SUM=4;MAX=5;MIN=6} COUNT? Event EventHandlerHandle MAX? MEAN? MIN? STAT_EVENT='torch.monitor.Stat' SUM? Stat TYPE_CHECKING=False TensorboardEventHandler VALUE? data_value_t log_event() register_event_handler() unregister_event_handler()
"""  # noqa: E501
