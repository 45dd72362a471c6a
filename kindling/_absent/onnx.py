"""Names of torch.onnx, written by tools/surface.py."""
TABLE = r"""
onnx/ ExportableModule(nn.modules.module:Module):dynamic_shapes,example_arguments,input_names,output_names,to_onnx InputObserver:check_discrepancies,infer_arguments,infer_dynamic_shapes,num_obs ONNXProgram:apply_weights,call_reference,compute_values,initialize_inference_session,*model_proto,optimize,release,rename_axes,save OnnxExporterError!(RuntimeError) export() is_in_onnx_export()
onnx.errors OnnxExporterWarning!(UserWarning) SymbolicValueError!(onnx:OnnxExporterError) UnsupportedOperatorError!(onnx:OnnxExporterError)
onnx.operators
onnx.ops/ aten_decompositions() attention() rotary_embedding() symbolic() symbolic_multi_out()
onnx.symbolic_helper
onnx.symbolic_opset10
onnx.symbolic_opset11
onnx.symbolic_opset12
onnx.symbolic_opset13
onnx.symbolic_opset14
onnx.symbolic_opset15
onnx.symbolic_opset16
onnx.symbolic_opset17
onnx.symbolic_opset18
onnx.symbolic_opset19
onnx.symbolic_opset20
onnx.symbolic_opset7
onnx.symbolic_opset8
onnx.symbolic_opset9
onnx.testing assert_onnx_program()
onnx.utils
onnx.verification VerificationInfo<name;max_abs_diff;max_rel_diff;abs_diff_hist;rel_diff_hist;expected_dtype;actual_dtype> verify_onnx_program()
"""  # noqa: E501
