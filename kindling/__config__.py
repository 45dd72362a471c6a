"""How this build was made, for reports (``torch.__config__``)."""
def show():
    """A few lines about the build and the processor's kernels."""
    import kindling
    return (f"Kindling built with:\n  - Version {kindling.__version__}\n  - C++ Version: 202002\n  - Kernels of its own, without MKL, oneDNN, OpenMP and CUDA\n"
            f"  - CPU capability usage: {kindling.backends.cpu.get_cpu_capability()}\n")


def _cxx_flags():
    return "-std=c++20"


def parallel_info():
    """A few lines about threads."""
    import os
    import kindling
    return (f"ATen/Parallel:\n\tat::get_num_threads() : {kindling.get_num_threads()}\n"
            f"std::thread::hardware_concurrency() : {os.cpu_count()}\nEnvironment variables:\n"
            f"\tOMP_NUM_THREADS : {os.environ.get('OMP_NUM_THREADS', '[not set]')}\nATen parallel backend: native thread pool\n")
