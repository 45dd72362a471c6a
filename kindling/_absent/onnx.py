"""Names of torch.onnx, written by tools/surface.py."""
TABLE = r"""
onnx/ ExportableModule(nn.modules.module:Module):dynamic_shapes,example_arguments,input_names,output_names,to_onnx InputObserver:check_discrepancies,infer_arguments,infer_dynamic_shapes,num_obs ONNXProgram:apply_weights,call_reference,compute_values,initialize_inference_session,*model_proto,optimize,release,rename_axes,save OnnxExporterError!(RuntimeError) OperatorExportTypes{ONNX=0;ONNX_ATEN=1;ONNX_ATEN_FALLBACK=2;ONNX_FALLTHROUGH=3} TensorProtoDataType{UNDEFINED=0;FLOAT=1;UINT8=2;INT8=3;UINT16=4;INT16=5;INT32=6;INT64=7;STRING=8;BOOL=9;FLOAT16=10;DOUBLE=11;UINT32=12;UINT64=13;COMPLEX64=14;COMPLEX128=15;BFLOAT16=16;FLOAT8E4M3FN=17;FLOAT8E4M3FNUZ=18;FLOAT8E5M2=19;FLOAT8E5M2FNUZ=20} TrainingMode{EVAL=0;PRESERVE=1;TRAINING=2} export() is_in_onnx_export()no register_custom_op_symbolic@onnx._internal.torchscript_exporter.utils
onnx._internal/
onnx._internal.torchscript_exporter/
onnx._internal.torchscript_exporter.symbolic_helper parse_args()
onnx._internal.torchscript_exporter.symbolic_opset11 select() squeeze() unsqueeze()
onnx._internal.torchscript_exporter.symbolic_opset12 dropout()
onnx._internal.torchscript_exporter.symbolic_opset9 masked_fill() softmax()
onnx._internal.torchscript_exporter.utils register_custom_op_symbolic()
onnx.errors OnnxExporterWarning!(UserWarning) SymbolicValueError!(onnx:OnnxExporterError) UnsupportedOperatorError!(onnx:OnnxExporterError)
onnx.operators shape_as_tensor()
onnx.ops/ aten_decompositions() attention() rotary_embedding() symbolic() symbolic_multi_out()
onnx.symbolic_helper cast_pytorch_to_onnx? parse_args@onnx._internal.torchscript_exporter.symbolic_helper
onnx.symbolic_opset10
onnx.symbolic_opset11 select@onnx._internal.torchscript_exporter.symbolic_opset11 squeeze@onnx._internal.torchscript_exporter.symbolic_opset11 unsqueeze@onnx._internal.torchscript_exporter.symbolic_opset11
onnx.symbolic_opset12 dropout@onnx._internal.torchscript_exporter.symbolic_opset12
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
onnx.symbolic_opset9 masked_fill@onnx._internal.torchscript_exporter.symbolic_opset9 softmax@onnx._internal.torchscript_exporter.symbolic_opset9
onnx.testing assert_onnx_program()
onnx.utils
onnx.verification VerificationInfo<name;max_abs_diff;max_rel_diff;abs_diff_hist;rel_diff_hist;expected_dtype;actual_dtype> verify_onnx_program()
"""  # noqa: E501
