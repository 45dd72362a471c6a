"""The thread pool seen from Python: what it counts, when it starts, and what it does where threads are not to be had."""
import os
import shutil
import subprocess
import sys

import pytest

COUNT = "len(os.listdir('/proc/self/task'))"


def run(code, *before, environment=(), **options):
    done = subprocess.run([*before, sys.executable, "-c", f"import os, kindling as torch\n{code}"], capture_output=True, text=True, timeout=120,
                          env={key: value for key, value in os.environ.items() if key not in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")} | dict(environment), **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_affinity_decides_how_many():
    cores = sorted(os.sched_getaffinity(0))
    one = lambda: os.sched_setaffinity(0, cores[:1])
    assert run("print(torch.get_num_threads())", preexec_fn=one) == ["1"]
    assert run(f"(torch.rand(2000, 2000) + 1).sum(); print({COUNT})", preexec_fn=one) == ["1"]


def test_the_environment_and_the_program_decide_before_it():
    assert run("print(torch.get_num_threads()); torch.set_num_threads(2); print(torch.get_num_threads())",
               environment={"OMP_NUM_THREADS": "3"}) == ["3", "2"]


def test_nothing_starts_before_it_is_needed():
    code = f"torch.set_num_threads(2); a = torch.rand(64, 64); (a @ a).exp().sum().item(); print({COUNT})"
    assert run(code + f"; (torch.rand(4000, 2000) + 1).sum(); print({COUNT})") == ["1", "2"]


def test_without_permission_for_threads_the_work_is_done_all_the_same():
    # A user without rights may not read the interpreter's files: what is needed is opened before.
    ready = "torch.set_num_threads(4); torch.ones(8, 8) @ torch.ones(8, 8)"
    limits = "import resource; os.getuid() or (os.setgid(65534), os.setuid(65534)); resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))"
    code = f"{ready}; {limits}\na = torch.ones(4000, 2000); print((a + 1).sum().item(), (a @ a.T).sum().item(), {COUNT})"
    assert run(code) == ["16000000.0", "32000000000.0", "1"]


@pytest.mark.parametrize("files", [{"cpu.max": "150000 100000"}, {"cpu/cpu.cfs_quota_us": "150000", "cpu/cpu.cfs_period_us": "100000"}])
def test_a_quota_of_the_control_group_counts(files):
    """Made-up control files, in a mount name space of its own: 1.5 cores are at most two threads, half a core is one."""
    unshare = [shutil.which("unshare") or "unshare", "--mount", "sh", "-c"]
    mount = "mount -t tmpfs none /sys/fs/cgroup && mkdir -p /sys/fs/cgroup/cpu"
    if os.getuid() or not shutil.which("unshare") or subprocess.run([*unshare, mount], capture_output=True).returncode:
        pytest.skip("mounting needs root")
    for quota, wanted in (("150000", 2), ("50000", 1)):
        write = [f"echo {text.replace('150000', quota)} > /sys/fs/cgroup/{name}" for name, text in files.items()]
        counted = run("print(torch.get_num_threads())", *unshare, " && ".join([mount, *write, 'exec "$@"']), "sh")
        assert int(counted[0]) == min(wanted, len(os.sched_getaffinity(0)))


def test_many_python_threads_share_one_pool():
    code = f"""
import threading
torch.set_num_threads(2)
a, most, sums = torch.ones(1500, 1000), [0], []
def work():
    for _ in range(5):
        sums.append((a + 1).sum().item())
        most[0] = max(most[0], {COUNT})
threads = [threading.Thread(target=work) for _ in range(6)]
[t.start() for t in threads]; [t.join() for t in threads]
print(set(sums) == {{3000000.0}}, most[0] <= 1 + 6 + 1)
"""
    assert run(code) == ["True", "True"]


def test_a_forked_child_has_a_pool_of_its_own():
    code = f"""
torch.set_num_threads(2)
a = torch.ones(2000, 2000)
(a + 1).sum()
child = os.fork()
if child == 0:
    os._exit(0 if (a + 1).sum().item() == 8000000 and {COUNT} == 2 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), (a + 1).sum().item())
"""
    assert run(code) == ["0", "8000000.0"]
