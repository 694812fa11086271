"""The absent modules of the standard library, with reasons: for the hint of a failed import.

And for the documentation.
"""

from __future__ import annotations

__all__ = ["ABSENT", "reason_of"]

# The absent modules of all Python versions, private ones too, by the reason.
ABSENT = {
    "it needs the network": (
        "_ssl asynchat asyncore ftplib imaplib nntplib poplib smtpd smtplib ssl syslog telnetlib wsgiref xmlrpc"
    ),
    "it needs other processes or interpreters": (
        "_bootsubprocess _interpchannels _interpqueues _interpreters _multiprocessing _posixshmem ensurepip "
        "multiprocessing pipes pty venv webbrowser"
    ),
    "it needs files": (
        "_dbm _gdbm compileall dbm mailbox mailcap modulefinder msilib py_compile pydoc_data tabnanny zipapp"
    ),
    "it needs a terminal, a screen or a device": (
        "_curses _curses_panel _tkinter curses idlelib ossaudiodev readline tkinter tty turtle turtledemo"
    ),
    "it is for another operating system": (
        "_aix_support _android_support _apple_support _ios_support _msi _osx_support _overlapped _scproxy _winapi _wmi "
        "msvcrt nt winreg winsound"
    ),
    "it is outdated, and gone from Python 3.13": (
        "_crypt aifc cgi cgitb crypt distutils imghdr imp lib2to3 nis sndhdr spwd sunau uu xdrlib"
    ),
    "it is a part of CPython's own tests, or a joke": "__hello__ __phello__ antigravity test this",
    "it wraps OpenSSL; hashlib works without it": "_hashlib",
}


def reason_of(name: str) -> str | None:
    """Return why programs lack a module of the standard library, or None if it is not an absent one."""
    return next((reason for reason, names in ABSENT.items() if name in names.split()), None)
