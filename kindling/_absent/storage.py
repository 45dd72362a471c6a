"""Names of torch.storage, written by tools/surface.py."""
TABLE = r"""
storage _LegacyStorage(storage:TypedStorage) _StorageBase:bfloat16,bool,byte,byteswap,char,clone,complex_double,complex_float,copy_,cpu,cuda,data_ptr,double,element_size,float,float8_e4m3fn,float8_e4m3fnuz,float8_e5m2,float8_e5m2fnuz,from_buffer,from_file,get_device,half,hpu,int,*is_cuda,*is_hpu,is_pinned,is_shared,long,mps,nbytes,new,pin_memory,resizable,resize_,share_memory_,short,size,to,tolist,type,untyped
"""  # noqa: E501
