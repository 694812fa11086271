"""Programs that see what the standard library is: each prints the same in plain CPython and in the sandbox."""

__all__ = ["OF_THE_LIBRARY"]

OF_THE_LIBRARY = {
    "every text encoding": """
from encodings.aliases import aliases
for name in sorted({*aliases.values()}):
    try:
        print(name, "Tee".encode(name), "Tee".encode(name).decode(name))
    except LookupError as error:
        print(name, error)
""",
    "encodings that are modules": """
import codecs, encodings.cp037, encodings.uu_codec
print(codecs.lookup("cp1140").name, encodings.cp037.getregentry().name, codecs.encode(b"tea", "uu"))
print(b"\\x93\\xfa\\x96{".decode("shift_jis_2004"), "caf\u00e9".encode("mac_turkish"))
try:
    "x".encode("mbcs")
except LookupError as error:
    print(error)
""",
    "a warning of a module that is imported": """
import warnings
with warnings.catch_warnings(record=True) as given:
    warnings.simplefilter("always")
    import sre_compile
here = (lambda: 0).__code__.co_filename
print([(str(each.message), each.lineno, each.filename == here) for each in given])
""",
}
