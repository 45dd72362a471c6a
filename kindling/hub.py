"""``torch.hub``: models from a repository's ``hubconf.py``, and files from the net, kept in a folder.

The folder is `$TORCH_HOME/hub`, by default `~/.cache/torch/hub`: the one PyTorch uses.
"""
import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import uuid
import warnings
import zipfile
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlparse

import kindling as torch

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

ENV_GITHUB_TOKEN = "GITHUB_TOKEN"
ENV_TORCH_HOME = "TORCH_HOME"
ENV_XDG_CACHE_HOME = "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"
VAR_DEPENDENCY = "dependencies"
MODULE_HUBCONF = "hubconf.py"
READ_DATA_CHUNK = 128 * 1024
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_TRUSTED_REPO_OWNERS = ("facebookresearch", "facebookincubator", "pytorch", "fairinternal")
_hub_dir = None


class _Faketqdm:
    """A bar of progress for where tqdm is not installed: a percentage on stderr."""

    def __init__(self, total=None, disable=False, unit=None, *args, **kwargs):
        self.total, self.disable, self.n = total, disable, 0

    def update(self, n):
        if self.disable:
            return
        self.n += n
        sys.stderr.write(f"\r{100 * self.n / self.total:.1f}%" if self.total else f"\r{self.n:.1f} bytes")
        sys.stderr.flush()

    def set_description(self, *args, **kwargs):
        pass

    def write(self, s):
        sys.stderr.write(f"{s}\n")

    def close(self):
        self.disable = True

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if not self.disable:
            sys.stderr.write("\n")


try:
    from tqdm import tqdm
except ImportError:
    tqdm = _Faketqdm


def _get_torch_home():
    return os.path.expanduser(os.getenv(ENV_TORCH_HOME, os.path.join(os.getenv(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR), "torch")))


def get_dir() -> str:
    """The folder that models and files are kept in.

    >>> torch.hub.get_dir().endswith("hub")
    True
    """
    if os.getenv("TORCH_HUB"):
        warnings.warn("TORCH_HUB is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    return _hub_dir if _hub_dir is not None else os.path.join(_get_torch_home(), "hub")


def set_dir(d) -> None:
    """Another folder."""
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


@contextlib.contextmanager
def _add_to_sys_path(path):
    sys.path.insert(0, path)
    try:
        yield
    finally:
        sys.path.remove(path)


def _import_module(name, path):
    import importlib.util

    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _remove_if_exists(path):
    if os.path.exists(path):
        if os.path.isfile(path):
            os.remove(path)
        else:
            shutil.rmtree(path)


def _git_archive_link(repo_owner, repo_name, ref):
    return f"https://github.com/{repo_owner}/{repo_name}/zipball/{ref}"


def _request(url):
    from urllib.request import Request

    headers = {"Accept": "application/vnd.github.v3+json"} if "api.github" in url else {"User-Agent": "torch.hub"}
    token = os.environ.get(ENV_GITHUB_TOKEN)
    if token is not None and "api.github" in url:
        headers["Authorization"] = f"token {token}"
    return Request(url, headers=headers)


def _read_url(url):
    from urllib.request import urlopen

    with urlopen(_request(url)) as answer:
        return answer.read().decode(answer.headers.get_content_charset("utf-8"))


def _parse_repo_info(github):
    """(owner, name, branch or tag) of `owner/name[:ref]`; without one the branch that is there, main or master."""
    repo, _, ref = github.partition(":")
    owner, name = repo.split("/")
    if ref:
        return owner, name, ref
    from urllib.request import urlopen

    try:
        with urlopen(f"https://github.com/{owner}/{name}/tree/main/"):
            ref = "main"
    except HTTPError as error:
        if error.code != 404:
            raise
        ref = "master"
    except URLError as error:
        # Without a net: what was kept before.
        for possible in ("main", "master"):
            if os.path.exists(f"{get_dir()}/{owner}_{name}_{possible}"):
                ref = possible
                break
        if not ref:
            raise RuntimeError("It looks like there is no internet connection and the repo could not be found in the cache "
                               f"({get_dir()})") from error
    return owner, name, ref


def _validate_not_a_forked_repo(repo_owner, repo_name, ref):
    """The branch, tag or commit must be the repository's own, and not a fork's."""
    for kind in ("branches", "tags"):
        page = 0
        while True:
            page += 1
            answer = json.loads(_read_url(f"https://api.github.com/repos/{repo_owner}/{repo_name}/{kind}?per_page=100&page={page}"))
            if not answer:
                break
            if any(each["name"] == ref or each["commit"]["sha"].startswith(ref) for each in answer):
                return
    raise ValueError(f"Cannot find {ref} in https://github.com/{repo_owner}/{repo_name}. If it's a commit from a forked repo, please call "
                     "hub.load() with forked repo directly.")


def _safe_extract_zip(archive, folder):
    """Unpacks, and refuses names that lead out of the folder."""
    base = Path(folder).resolve()
    for each in archive.infolist():
        target = (base / each.filename).resolve()
        if base not in (target, *target.parents):
            raise ValueError(f"Refusing to extract {each.filename!r}: it would be written outside of {folder}")
    archive.extractall(folder)


def _get_cache_or_reload(github, force_reload, trust_repo, calling_fn, verbose=True, skip_validation=False):
    """The folder of a repository, loaded if it is not there."""
    hub_dir = get_dir()
    os.makedirs(hub_dir, exist_ok=True)
    owner, name, ref = _parse_repo_info(github)
    # Branches have slashes.
    normalized = ref.replace("/", "_")
    folder = os.path.join(hub_dir, "_".join([owner, name, normalized]))
    _check_repo_is_trusted(owner, name, "_".join([owner, name]), trust_repo=trust_repo, calling_fn=calling_fn)
    if not force_reload and os.path.exists(folder):
        if verbose:
            sys.stderr.write(f"Using cache found in {folder}\n")
        return folder
    if not skip_validation:
        _validate_not_a_forked_repo(owner, name, ref)
    file = os.path.join(hub_dir, normalized + ".zip")
    _remove_if_exists(file)
    url = _git_archive_link(owner, name, ref)
    try:
        sys.stderr.write(f'Downloading: "{url}" to {file}\n')
        download_url_to_file(url, file, progress=False)
    except HTTPError as error:
        if error.code == 300:
            # A name of both a tag and a branch.
            warnings.warn(f"The ref {ref} is ambiguous. Perhaps it is both a tag and a branch in the repo? Torchhub will now assume that it's a "
                          "branch. You can disambiguate tags and branches by explicitly passing refs/heads/branch_name or "
                          "refs/tags/tag_name as the ref. That might require using skip_validation=True.", stacklevel=2)
            download_url_to_file(_git_archive_link(owner, name, f"refs/heads/{ref}"), file, progress=False)
        else:
            raise
    with zipfile.ZipFile(file) as archive:
        inner = os.path.join(hub_dir, archive.infolist()[0].filename)
        _remove_if_exists(inner)
        _safe_extract_zip(archive, hub_dir)
    _remove_if_exists(file)
    _remove_if_exists(folder)
    shutil.move(inner, folder)
    return folder


def _check_repo_is_trusted(repo_owner, repo_name, owner_name_branch, trust_repo, calling_fn="load"):
    """Asks, warns or says nothing before code of a repository runs, by `trust_repo`; what was agreed to is kept in a list."""
    file = os.path.join(get_dir(), "trusted_list")
    if not os.path.exists(file):
        Path(file).touch()
    trusted = set(Path(file).read_text().splitlines())
    known = owner_name_branch in trusted or repo_owner in _TRUSTED_REPO_OWNERS or \
        next(Path(get_dir()).glob(f"{repo_owner}_{repo_name}_*"), None) is not None
    if known:
        pass
    elif trust_repo is None:
        warnings.warn("You are about to download and run code from an untrusted repository. In a future release, this won't be allowed. To add "
                      f"the repository to your trusted list, change the command to {calling_fn}(..., trust_repo=False) and a command prompt "
                      f"will appear asking for an explicit confirmation of trust, or {calling_fn}(..., trust_repo=True), which will assume "
                      f"that the prompt is to be answered with 'yes'. You can also use {calling_fn}(..., trust_repo='check') which will only "
                      "prompt for confirmation if the repo is not already trusted. This will eventually be the default behaviour",
                      stacklevel=3)
        return
    elif trust_repo is False or trust_repo == "check":
        answer = input(f"The repository {repo_owner}_{repo_name} does not belong to the list of trusted repositories and as such cannot be "
                       "downloaded. Do you trust this repository and wish to add it to the trusted list of repositories (y/N)?").strip().lower()
        if answer in ("", "n", "no"):
            raise Exception("Untrusted repository.")
        if answer not in ("y", "yes"):
            raise ValueError(f"Unrecognized response {answer}.")
        trust_repo = True
    if trust_repo is True and owner_name_branch not in trusted:
        with open(file, "a") as out:
            out.write(owner_name_branch + "\n")


def _check_module_exists(name):
    import importlib.util

    return importlib.util.find_spec(name) is not None


def _check_dependencies(m):
    missing = [name for name in getattr(m, VAR_DEPENDENCY, None) or () if not _check_module_exists(name)]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")


def _load_attr_from_module(module, func_name):
    return getattr(module, func_name, None)


def _load_entry_from_hubconf(m, model):
    """The function of hubconf that makes a model."""
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    _check_dependencies(m)
    function = _load_attr_from_module(m, model)
    if function is None or not callable(function):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return function


def _folder(repo_or_dir, source, force_reload, trust_repo, calling_fn, verbose, skip_validation):
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        return _get_cache_or_reload(repo_or_dir, force_reload, trust_repo, calling_fn, verbose=verbose, skip_validation=skip_validation)
    return repo_or_dir


def list(github, force_reload=False, skip_validation=False, trust_repo=None, verbose=True):
    """The names of the functions in a repository's hubconf (`owner/name[:ref]`)."""
    folder = _get_cache_or_reload(github, force_reload, trust_repo, "list", verbose=verbose, skip_validation=skip_validation)
    with _add_to_sys_path(folder):
        module = _import_module(MODULE_HUBCONF, os.path.join(folder, MODULE_HUBCONF))
    return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(github, model, force_reload=False, skip_validation=False, trust_repo=None):
    """The words of a function in a repository's hubconf about itself."""
    folder = _get_cache_or_reload(github, force_reload, trust_repo, "help", verbose=True, skip_validation=skip_validation)
    with _add_to_sys_path(folder):
        module = _import_module(MODULE_HUBCONF, os.path.join(folder, MODULE_HUBCONF))
    return _load_entry_from_hubconf(module, model).__doc__


def load(repo_or_dir, model, *args, source="github", trust_repo=None, force_reload=False, verbose=True, skip_validation=False, **kwargs):
    """What the function `model` of a repository's hubconf gives for the arguments.

    `source="github"`: `repo_or_dir` is `owner/name[:ref]`; `source="local"`: a folder with a `hubconf.py`.
    """
    folder = _folder(repo_or_dir, source.lower(), force_reload, trust_repo, "load", verbose, skip_validation)
    return _load_local(folder, model, *args, **kwargs)


def _load_local(hubconf_dir, model, *args, **kwargs):
    with _add_to_sys_path(hubconf_dir):
        module = _import_module(MODULE_HUBCONF, os.path.join(hubconf_dir, MODULE_HUBCONF))
        return _load_entry_from_hubconf(module, model)(*args, **kwargs)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Loads a file to a path; RuntimeError if its SHA256 does not begin with `hash_prefix`."""
    from urllib.request import urlopen

    dst = os.path.expanduser(dst)
    for _ in range(100):
        part = f"{dst}.{uuid.uuid4().hex}.partial"
        try:
            file = open(part, "w+b")
        except FileExistsError:
            continue
        break
    else:
        raise FileExistsError(errno.EEXIST, "No usable temporary file name found")
    try:
        with file, urlopen(_request(url)) as answer:
            length = answer.headers.get("Content-Length")
            sha256 = hashlib.sha256() if hash_prefix is not None else None
            with tqdm(total=int(length) if length else None, disable=not progress, unit="B", unit_scale=True, unit_divisor=1024) as bar:
                while True:
                    data = answer.read(READ_DATA_CHUNK)
                    if not data:
                        break
                    file.write(data)
                    if sha256 is not None:
                        sha256.update(data)
                    bar.update(len(data))
        if sha256 is not None and sha256.hexdigest()[:len(hash_prefix)] != hash_prefix:
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{sha256.hexdigest()}")')
        shutil.move(part, dst)
    finally:
        if os.path.exists(part):
            os.remove(part)


def _is_legacy_zip_format(filename):
    if not zipfile.is_zipfile(filename):
        return False
    with zipfile.ZipFile(filename) as archive:
        names = archive.namelist()
    # A checkpoint is a zip file too; this is one file packed as it is.
    return len(names) == 1


def _legacy_zip_load(filename, model_dir, map_location, weights_only):
    warnings.warn("Falling back to the old format < 1.6. This support will be deprecated in favor of default zipfile format introduced in 1.6. "
                  "Please redo torch.save() to save it in the new zipfile format.", stacklevel=3)
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(filename) as archive:
        names = archive.infolist()
        if len(names) != 1:
            raise RuntimeError("Only one file(not dir) is allowed in the zipfile")
        _safe_extract_zip(archive, folder)
        return torch.load(os.path.join(folder, names[0].filename), map_location=map_location, weights_only=weights_only)


def load_state_dict_from_url(url: str, model_dir: str | None = None, map_location=None, progress: bool = True, check_hash: bool = False,
                             file_name: str | None = None, weights_only: bool = False):
    """The saved object at an address, kept in `model_dir` (`get_dir()/checkpoints`) and loaded from there the next time.

    `check_hash`: the file's name ends in `-` and the beginning of its SHA256. Reads `file://` addresses too.
    """
    if os.getenv("TORCH_MODEL_ZOO"):
        warnings.warn("TORCH_MODEL_ZOO is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    model_dir = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(model_dir, exist_ok=True)
    name = file_name if file_name is not None else os.path.basename(urlparse(url).path)
    cached = os.path.join(model_dir, name)
    if not os.path.exists(cached):
        sys.stderr.write(f'Downloading: "{url}" to {cached}\n')
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, cached, found.group(1) if found else None, progress=progress)
    if _is_legacy_zip_format(cached):
        return _legacy_zip_load(cached, model_dir, map_location, weights_only)
    return torch.load(cached, map_location=map_location, weights_only=weights_only)
