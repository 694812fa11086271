"""`parallel`, given what is none of its business."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

PROGRAMS: dict[str, str] = {
    "calls that lie": """
class Call(tuple):
    def __iter__(self): return iter([lookup, "tea"] if claimed else [add, 1, 2])
    def __getitem__(self, place): raise SystemExit
    def __len__(self): return 10 ** 18
claimed = []
for given in (Call((add, 1, 2)), Call(()), (add,), (), (add, 1, 2, 3), add, None, 5, "add", [add, 1, 2], (print, 1)):
    try: print(parallel(given, given))
    except BaseException as error: print(type(error))
""",
    "functions that are no tools": """
try: print(parallel(*[(os.system, "id"), (open, "/arena/canary.txt"), (parallel, (add, 1, 2)), (claim, )][:3]))
except BaseException as error: print(error)
""",
    "calls of the kind that calls": """
def more(depth): return parallel(*[(more, depth - 1)] * 3) if depth else add(1, 2)
try: print(len(str(more(7))))
except BaseException as error: print(type(error))
""",
    "calls without end": """
def endless():
    while True: yield (add, 1, 2)
try: parallel(*endless())
except BaseException as error: print(type(error))
""",
    "a hundred thousand calls": """
try: parallel(*[(add, 1, 2)] * 100_000)
except BaseException as error: print(type(error))
""",
    "branches that end everything": """
def leave(how): raise how
for how in (SystemExit(0), KeyboardInterrupt(), GeneratorExit(), StopIteration(1), MemoryError()):
    try: print(parallel((leave, how), (add, 1, 2)))
    except BaseException as error: print(type(error))
import threading
parallel((os._exit, 0), (add, 1, 2))
""",
    "an ungranted name": """
class Named:
    __name__ = "admin_delete"
    def __call__(self, *a):
        return type(add)(add.__code__, {**add.__globals__}, "admin_delete", None, add.__closure__)(*a)
try: print(parallel((Named(), 1, 2)))
except BaseException as error: print(error)
""",
    "answers that hang": "parallel(*[(hang_tool,)] * 200)",
}
