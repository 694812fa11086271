"""Whether a program does no more than read: a look that anything unknown fails."""

from __future__ import annotations

import pytest

from ez_ptc.sandbox.check.read_only import reads_only

TOOLS = {"list_users": True, "get_user": True, "delete_user": False, "print_label": False}

READING: dict[str, str] = {
    "a loop": "total = 0\nfor u in list_users():\n    if u['age'] > 5:\n        total += u['age']\nprint(total)",
    "a comprehension": "print([u.name for u in list_users() if get_user(u['id']).ok], {k: v for k, v in {}.items()})",
    "side by side": "print(parallel(*[(get_user, u['id']) for u in list_users()]), list(map(get_user, [1])))",
    "a function": "def f(n, *, m=1):\n    return get_user(n)\nif __name__ == '__main__':\n    print(f(1))",
    "imports": "import json\nfrom collections import Counter as C\nprint(json.dumps(C(u['x'] for u in list_users())))",
    "a lambda": "print(sorted(list_users(), key=lambda u: u['age'], reverse=True)[:3])",
    "what is tried": "try:\n    u = get_user(1)\nexcept (KeyError, ToolError) as error:\n    u = None\nprint(u)",
    "a count": "rows, n = list_users(), 0\nwhile n < 3:\n    n += 1\n    print(rows[n], f'{n:>3}')",
    "an awaited call": "async def f():\n    await asyncio.sleep(0)\n    return get_user(1)\nprint(asyncio.run(f()))",
    "an annotation": "users: list = list_users()\nfirst, *rest = users\nprint(first, rest)",
    "a choice": "if list_users():\n    x = 1\nelse:\n    x = 2\nprint(x)",
    "escapes": "print('\\d\\n', r'\\w', list_users())",
}


@pytest.mark.parametrize("program", READING.values(), ids=READING.keys())
def test_reading_statement_may_be_proposed(program: str) -> None:
    assert reads_only(program, TOOLS)


MORE: dict[str, str] = {
    "called": "delete_user(1)",
    "called in parentheses": "(delete_user)(1)",
    "called on the next line": "delete_user\\\n(1)",
    "called by its method": "delete_user.__call__(1)",
    "passed to map": "list(map(delete_user, [1]))",
    "passed to a thread": "import asyncio\nawait asyncio.to_thread(delete_user, 1)",
    "passed to parallel": "parallel((delete_user, 1))",
    "passed as a key": "sorted([1], key=delete_user)",
    "given another name": "f = delete_user\nf(1)",
    "in a list": "[delete_user][0](1)",
    "as a default": "def f(x, then=delete_user):\n    then(x)\nf(1)",
    "as a decorator": "@delete_user\ndef f():\n    pass",
    "as an annotation": "def f(x: delete_user(1)):\n    pass",
    "as a base": "class A(delete_user):\n    pass",
    "in a text in braces": "print(f'{delete_user(1)}')",
    "in a condition": "if delete_user(1):\n    pass",
    "in a comparison that is never reached": "False and delete_user(1)",
    "in a lambda": "(lambda: delete_user(1))()",
    "in a pattern": "match 1:\n    case 1:\n        delete_user(1)",
    "with a walrus": "(f := delete_user)(1)",
    "by a text": "print('delete_user')",
    "by a key": "x = {}\nx['delete_user'](1)",
    "by an attribute": "x = {}\nx.delete_user(1)",
    "by a name of an argument": "dict(delete_user=1)",
    "bound": "delete_user = 1",
    "a loop's": "for delete_user in []:\n    pass",
    "a parameter": "def f(delete_user):\n    pass",
    "imported": "from __main__ import delete_user",
    "imported under another name": "import json as delete_user",
    "by getattr": "getattr(__builtins__, 'delete' + '_user')(1)",
    "by globals": "globals()['delete' + '_user'](1)",
    "by vars": "vars()['delete' + '_user'](1)",
    "by locals": "locals()['delete' + '_user'](1)",
    "by eval": "eval('delete' + '_user(1)')",
    "by exec": "exec('delete' + '_user(1)')",
    "by compile": "compile('x', 'x', 'exec')",
    "by an alias of eval": "e = eval\ne('1')",
    "by a module": "import sys\nsys.modules['__main__']",
    "by another module": "import importlib\nimportlib.import_module('__main__')",
    "by a module's module": "import statistics\nstatistics.sys.modules['__main__']",
    "by the program as a module": "import __main__\n__main__.x(1)",
    "by an operator": "import operator\noperator.attrgetter('x')",
    "by inspection": "import inspect\ninspect.currentframe()",
    "by dunders": "print.__self__",
    "by a function's globals": "def f():\n    pass\nf.__globals__['x'](1)",
    "by a frame": "(i for i in ()).gi_frame.f_globals['delete' + '_user'](1)",
    "by an exception's frame": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    e.__traceback__",
    "by a coroutine's frame": "async def f():\n    pass\nf().cr_frame.f_globals['x'](1)",
    "by a star": "from asyncio import *",
    "a tool that hides a built-in": "print_label(1)",
    "what nobody knows": "fire(1)",
    "what an earlier program may have bound": "for fire in []:\n    pass\nfire(1)",
    "what a branch has not bound": "if list_users():\n    fire = str\nfire(1)",
    "what comes later": "fire(1)\nfire = str",
    "what is only annotated": "fire: int\nfire(1)",
    "a parameter outside of its function": "def f(fire, x: fire(1)):\n    pass",
    "a loop's name before the loop": "print([fire for fire in fire(1)])",
    "a global": "def f():\n    global x\n    x = 1\nf()",
    "a deleted name": "x = 1\ndel x\nx(1)",
    "no Python": "delete user",
    "too deep": "(" * 500 + ")" * 500,
}


@pytest.mark.parametrize("program", MORE.values(), ids=MORE.keys())
def test_statement_with_effects_is_not_proposed(program: str) -> None:
    assert not reads_only(program, TOOLS)


def test_names_bound_anywhere_belong_to_the_program() -> None:
    program = "for u in list_users():\n    last = u\nprint(last)"
    assert not reads_only(program, TOOLS)
    assert reads_only(program, TOOLS, taken=())
    assert not reads_only(program, TOOLS, taken={"last"})
    assert not reads_only("print(list_users())", TOOLS, taken={"print"})
    assert not reads_only("print(list_users())", TOOLS, taken={"list_users"})


def test_tool_named_like_builtin_is_checked_as_declared() -> None:
    assert not reads_only("print(1)", {"print": False})
    assert reads_only("print(1)", {"print": True})
