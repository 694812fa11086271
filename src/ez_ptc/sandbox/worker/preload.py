"""Everything a program may import, imported while files can still be read.

After the lockdown nothing can be opened, so what is not here does not exist for programs: no GUI, no packaging and no
developer tools, no network clients, no OpenSSL, no ctypes.
"""

from __future__ import annotations

import _imp
import contextlib
import gc
import importlib
import os
import sys
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

__all__ = ["forget_places", "preload"]

_TEXT = "string re difflib textwrap unicodedata stringprep codecs locale gettext shlex html html.entities html.parser"
_DATA = (
    "datetime _strptime zoneinfo calendar collections collections.abc heapq bisect array weakref types copy copyreg "
    "pprint reprlib enum graphlib dataclasses struct base64 binascii quopri uuid ipaddress colorsys"
)
_NUMBERS = "numbers math cmath decimal _pydecimal fractions random statistics secrets"
_FUNCTIONAL = "itertools functools operator contextlib contextvars abc"
_FORMATS = (
    "json json.tool csv configparser tomllib netrc plistlib pickle pickletools marshal shelve xml xml.dom "
    "xml.dom.minidom xml.dom.pulldom xml.etree xml.etree.ElementTree xml.sax xml.sax.expatreader "
    "xml.sax.handler xml.sax.saxutils xml.sax.xmlreader xml.parsers.expat email email.charset email.encoders "
    "email.generator email.header email.headerregistry email.message email.mime.application email.mime.image "
    "email.mime.audio email.mime.base email.mime.message email.mime.multipart email.mime.text email.parser "
    "email.policy email.utils mimetypes wave sqlite3 sqlite3.dbapi2"
)
_PACKED = "zlib gzip bz2 lzma zipfile tarfile hashlib hmac"
_FILES = (
    "io os os.path pathlib posixpath ntpath genericpath fileinput stat filecmp tempfile glob fnmatch linecache shutil"
)
_SYSTEM = (
    "sys sysconfig builtins warnings traceback __future__ gc inspect time timeit argparse optparse getopt logging "
    "logging.handlers logging.config getpass platform errno signal selectors select socket mmap resource atexit sched "
    "faulthandler tracemalloc"
)
_CONCURRENT = (
    "threading concurrent concurrent.futures concurrent.futures.thread queue _queue subprocess asyncio asyncio.queues "
    "asyncio.runners asyncio.taskgroups asyncio.timeouts asyncio.threads"
)
_LANGUAGE = (
    "typing ast dis tokenize token keyword symtable opcode code codeop importlib importlib.abc importlib.machinery "
    "importlib.util importlib.resources importlib.metadata pkgutil runpy unittest unittest.mock doctest bdb pdb cmd "
    "cProfile profile pstats trace rlcompleter"
)
_NET = "urllib urllib.parse urllib.error urllib.response http http.cookies http.client"
_CODECS = (
    "ascii latin_1 utf_8 utf_8_sig utf_16 utf_16_le utf_16_be utf_32 utf_32_le utf_32_be utf_7 idna punycode "
    "unicode_escape raw_unicode_escape undefined hex_codec base64_codec quopri_codec zlib_codec bz2_codec rot_13 "
    "charmap cp1250 cp1251 cp1252 cp1253 cp1254 cp437 cp850 cp866 iso8859_1 iso8859_2 iso8859_5 iso8859_7 iso8859_9 "
    "iso8859_15 koi8_r mac_roman big5 gb2312 gbk gb18030 shift_jis cp932 euc_jp iso2022_jp euc_kr cp949"
)

_NAMES = (
    f"{_TEXT} {_DATA} {_NUMBERS} {_FUNCTIONAL} {_FORMATS} {_PACKED} {_FILES} {_SYSTEM} {_CONCURRENT} {_LANGUAGE} {_NET}"
)
_ABSENT = ("_hashlib", "_ssl")


def preload() -> None:
    """Import the standard library of programs, and read the time zones."""
    import warnings

    for name in _ABSENT:
        # OpenSSL is a large piece of C that no program needs; hashlib falls back to CPython's own functions.
        sys.modules[name] = cast("ModuleType", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with _quiet_hashlib():
            importlib.import_module("hashlib")
        for name in _NAMES.split():
            # A few are optional parts of a CPython build (sqlite3, lzma); then programs do not have them either.
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        for name in _CODECS.split():
            importlib.import_module("encodings." + name)
    for name in _ABSENT:
        del sys.modules[name]
    _load_time_zones()


@contextlib.contextmanager
def _quiet_hashlib() -> Generator[None]:
    """Keep a CPython built with fewer hashes from logging an error for each one it lacks."""
    import logging

    logging.disable()
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def _load_time_zones() -> None:
    import io
    import zoneinfo
    from zoneinfo import _common

    found: dict[str, bytes] = {}
    for root in zoneinfo.TZPATH:
        for folder, folders, files in os.walk(root):
            folders[:] = [name for name in folders if name not in {"posix", "right"}]
            for name in files:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    if file.read(4) == b"TZif":
                        found[os.path.relpath(path, root)] = b"TZif" + file.read()
        if found:
            break

    def load_tzdata(key: str) -> io.BytesIO:
        if key not in found:
            raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}")  # noqa: EM102, TRY003 - CPython's own words
        return io.BytesIO(found[key])

    zoneinfo.reset_tzpath(to=())
    _common.load_tzdata = load_tzdata
    zoneinfo.available_timezones = lambda: set(found)


_EVERYBODYS = {"", "/", "/usr", "/usr/local"}
_PLACE_NAMES = ("origin", "cached", "path")
_SYS_PLACES = (
    "prefix",
    "exec_prefix",
    "base_prefix",
    "base_exec_prefix",
    "executable",
    "_base_executable",
    "_stdlib_dir",
)


def forget_places() -> None:
    """Replace the host's paths in what programs see of modules, code objects and ``sys``; empty the environment."""
    places = {os.path.dirname(os.__file__): "<stdlib>", os.path.dirname(__file__): "<sandbox>"}
    places |= dict.fromkeys({sys.prefix, sys.base_prefix} - _EVERYBODYS, "<python>")

    def hide(path: str) -> str:
        return next((name + path[len(root) :] for root, name in places.items() if path.startswith(root)), path)

    _hide_in_functions(hide)
    for module in list(sys.modules.values()):
        _hide_in_module(module, hide)
        for holder in (getattr(module, "__spec__", None), getattr(module, "__loader__", None)):
            _hide_in_attributes(holder, hide)
    for name in _SYS_PLACES:
        setattr(sys, name, "")
    sys.argv = [""]
    sys.orig_argv = [""]
    os.environ.clear()


def _hide_in_functions(hide: Callable[[str], str]) -> None:
    # What importlib itself does to a module whose cached bytecode has moved; nested code objects follow.
    rename = cast("Callable[[CodeType, str], None]", vars(_imp)["_fix_co_filename"])
    for found in gc.get_objects():
        if type(found) is FunctionType:
            rename(found.__code__, hide(found.__code__.co_filename))


def _hide_in_module(module: object, hide: Callable[[str], str]) -> None:
    # Some entries of sys.modules are classes (typing.io was one): they hold no paths.
    names = vars(module) if isinstance(module, ModuleType) else {}
    for name, value in list(names.items()):
        if type(value) is str:
            names[name] = hide(value)
    if isinstance(names.get("__path__"), list):
        names["__path__"] = [hide(path) for path in names["__path__"]]


def _hide_in_attributes(holder: object, hide: Callable[[str], str]) -> None:
    for name in _PLACE_NAMES:
        value = getattr(holder, name, None)
        if isinstance(value, str):
            # Built-in and frozen modules share loader classes and have read-only specs: they name no files.
            with contextlib.suppress(AttributeError, TypeError):
                setattr(holder, name, hide(value))
