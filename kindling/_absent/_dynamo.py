"""Names of torch._dynamo, written by tools/surface.py."""
TABLE = r"""
_dynamo/ OptimizedModule@_dynamo.eval_frame allow_in_graph@_dynamo.decorators assume_constant_result@_dynamo.decorators is_compiling@_dynamo.external_utils mark_dynamic@_dynamo.decorators mark_static_address@_dynamo.decorators reset()
_dynamo._trace_wrapped_higher_order_op TransformGetItemToIndex(overrides:TorchFunctionMode)
_dynamo.config cache_size_limit=8 capture_scalar_outputs=False optimize_ddp=True patch() skip_fwd_side_effects_in_bwd_under_checkpoint=False verbose=False
_dynamo.decorators allow_in_graph() assume_constant_result() mark_dynamic() mark_static_address()
_dynamo.eval_frame OptimizedModule(nn.modules.module:Module):*training is_dynamo_supported()
_dynamo.exc BackendCompilerFailed!(_dynamo.exc:ShortenTraceback) RestartAnalysis!(_dynamo.exc:TorchDynamoException) ShortenTraceback!(_dynamo.exc:TorchDynamoException) TensorifyScalarRestartAnalysis!(_dynamo.exc:RestartAnalysis) TorchDynamoException!(RuntimeError) TorchRuntimeError!(_dynamo.exc:TorchDynamoException)
_dynamo.external_utils is_compiling()
"""  # noqa: E501
