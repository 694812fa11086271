"""Pictures that programs make come back as PNG files, within a limit, and go on to a model that sees them."""

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ez_ptc import (
    ImageMessage,
    Journal,
    Limits,
    ProcessSandbox,
    ScriptedProvider,
    ToolCall,
    Toolkit,
    ToolResultMessage,
    ez_tool,
    llm,
)
from ez_ptc.errors import ProtocolError
from ez_ptc.sandbox.protocol.frames import parse
from ez_ptc.sandbox.protocol.pictures import PictureFrame, ReceivedPictures
from ez_ptc.sandbox.protocol.values import codec as values
from tests.sandbox.tools import TOOLS


def part(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width: int = 1, height: int = 1, *, end: bytes = b"") -> bytes:
    rows = zlib.compress(b"\0\0\0\0" * min(height, 9))
    header = part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + part(b"IDAT", rows) + part(b"IEND", b"") + end


def picture_frame(data: object, **more: object) -> bytes:
    return values.dumps({"t": "picture", "data": values.encode(data), **more})


def receive(data: object) -> list[bytes]:
    """Return the pictures of a host that has received a frame with these data."""
    frame, received = parse(picture_frame(data)), ReceivedPictures(1 << 20)
    assert isinstance(frame, PictureFrame)
    received.add(frame)
    return received.files


def test_pictures_of_a_worker_are_whole_png_files() -> None:
    for data in (png(), png(4_000, 3_000)):
        assert receive(data) == [data]


WRONG: dict[str, object] = {
    "text": "x",
    "nothing at all": None,
    "a list": [png()],
    "a dict": {"a": png()},
    "no picture": b"GIF89a",
    "nothing": b"",
    "only a signature": b"\x89PNG\r\n\x1a\n",
    "half a picture": png()[:-6],
    "something after it": png(end=b"<script>"),
    "a wrong checksum": png()[:-1] + b"\0",
    "no header": b"\x89PNG\r\n\x1a\n" + part(b"IEND", b""),
    "a part that is longer than the file": png()[:8] + b"\xff\xff\xff\xff" + png()[12:],
    "one that unfolds to gigabytes": png(60_000, 60_000),
    "no width": png(0, 5),
}


@pytest.mark.parametrize("data", WRONG.values(), ids=WRONG.keys())
def test_anything_else_ends_the_worker(data: object) -> None:
    with pytest.raises(ProtocolError):
        receive(data)


def test_other_fields_beside_a_picture_end_the_worker() -> None:
    with pytest.raises(ProtocolError):
        parse(picture_frame(png(), more=1))
    with pytest.raises(ProtocolError):
        parse(values.dumps({"t": "done", "value": None, "dropped": 0, "images": values.encode([png()])}))


@pytest.mark.parametrize("left", [-1, True, "1", 1 << 70, None])
def test_how_many_were_left_out_is_a_number(left: object) -> None:
    with pytest.raises(ProtocolError):
        parse(values.dumps({"t": "done", "value": None, "dropped": 0, "images_left": left}))


# As much of Pillow as is looked at: the real one is not in the everyday run.
PILLOW = """
import struct, zlib
_part = lambda kind, body: struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
class Image:
    mode = "RGB"
    def __init__(self, width, height): self.width, self.height = width, height
    def show(self, title=None): raise OSError("no screen")
    def save(self, file, format):
        if self.height == 7: raise ValueError("cannot be drawn")
        rows = zlib.compress(b"".join(b"\\0" + bytes(3 * self.width) for _ in range(self.height)), 0)
        header = struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)
        file.write(b"\\x89PNG\\r\\n\\x1a\\n" + _part(b"IHDR", header) + _part(b"IDAT", rows) + _part(b"IEND", b""))
def new(mode, size): return Image(*size)
def preinit(): pass
"""
FONT = "<packages>/PIL/fonts/a.ttf"


@pytest.fixture(scope="module")
def drawing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toolkit]:
    folder = tmp_path_factory.mktemp("packages")
    package = folder / "PIL"
    (package / "fonts").mkdir(parents=True)
    (package / "fonts" / "a.ttf").write_bytes(b"a font\nof two lines")
    (package / "fonts" / "mine.txt").write_text("a secret")
    (folder / "secrets.txt").write_text("a secret")
    (package / "later").mkdir()
    (package / "later" / "__init__.py").write_text("")
    (package / "later" / "x.txt").write_text("read later")
    record = folder / "pillow-1.0.dist-info" / "RECORD"
    record.parent.mkdir()
    metadata = "Metadata-Version: 2.1\nName: pillow\nVersion: 1.0\nRequires-Dist: paints\n"
    (record.parent / "METADATA").write_text(metadata)
    (folder / "paints").mkdir()
    (folder / "paints" / "__init__.py").write_text("")
    (folder / "paints" / "red.txt").write_text("#f00")
    (folder / "paints-1.0.dist-info").mkdir()
    (folder / "paints-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: paints\nVersion: 1.0\n")
    (folder / "paints-1.0.dist-info" / "RECORD").write_text("paints/__init__.py,,\npaints/red.txt,,\n")
    record.write_text(
        "PIL/__init__.py,,\nPIL/fonts/a.ttf,,19\nPIL/later/x.txt,,\nPIL/../secrets.txt,,\nPIL/gone.txt,,\n"
    )
    (package / "__init__.py").write_text("import os\nhome = os.path.expanduser('~')\n")
    (package / "Image.py").write_text(PILLOW)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(folder), *sys.path])
        with Toolkit(TOOLS, allow_imports=["PIL"], limits=Limits(images=21_000, timeout=60)) as toolkit:
            assert toolkit.execute("1").success
            yield toolkit


def sizes(images: list[ImageMessage]) -> list[tuple[int, int]]:
    assert all(image.media_type == "image/png" for image in images)
    return [struct.unpack(">II", (image.data or b"")[16:24]) for image in images]


IMPORT = "from PIL import Image\n"
DRAWN: dict[str, tuple[str, list[tuple[int, int]]]] = {
    "the value": ("Image.new('RGB', (2, 3))", [(2, 3)]),
    "a list of them": ("[Image.new('RGB', (n, 1)) for n in (1, 2)]", [(1, 1), (2, 1)]),
    "shown ones": ("for n in (4, 3): Image.new('RGB', (n, n)).show()", [(4, 4), (3, 3)]),
    "shown ones, and the value": ("Image.new('RGB', (4, 4)).show()\nImage.new('RGB', (2, 2))", [(4, 4), (2, 2)]),
    "none": ("Image.new('RGB', (4, 4))\n1", []),
    "a list with other things": ("[Image.new('RGB', (4, 4)), 1]", []),
    "bytes": ("import io\nb = io.BytesIO()\nImage.new('RGB', (1, 1)).save(b, 'PNG')\nb.getvalue()", []),
}


@pytest.mark.parametrize(("program", "expected"), DRAWN.values(), ids=DRAWN.keys())
def test_program_returns_pictures_and_value(drawing: Toolkit, program: str, expected: list[tuple[int, int]]) -> None:
    result = drawing.execute(IMPORT + program)
    assert result.success, result.error
    assert sizes(result.images) == expected
    assert result.pictures_text() == (f"[Pictures made: {len(expected)}.]" if expected else None)


def test_failed_program_keeps_its_pictures(drawing: Toolkit) -> None:
    result = drawing.execute(IMPORT + "Image.new('RGB', (2, 2)).show()\n1 / 0")
    assert (sizes(result.images), result.error) == ([(2, 2)], "ZeroDivisionError: division by zero")


PAUSING = (
    IMPORT
    + """
Image.new('RGB', (2, 2)).show()
a = send('first')
Image.new('RGB', (3, 3)).show()
b = send('second')
Image.new('RGB', (4, 4))
"""
)


@ez_tool(requires_approval=True)
def send(text: str) -> str:
    """Send a text."""
    return text


@pytest.mark.parametrize("options", [{"paused": 0}, {"paused": 8}, {"paused": 0, "fresh": "restored"}])
def test_paused_program_has_the_pictures_made_so_far(drawing: Toolkit, tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "runs.db"
    del drawing  # its package is on the path
    with (
        ProcessSandbox(allow_imports=["PIL"], **options) as sandbox,
        Toolkit([send], sandbox=sandbox, limits=Limits(timeout=60), journal=path) as toolkit,
    ):
        result = toolkit.execute(PAUSING)
        for expected in ([(2, 2)], [(2, 2), (3, 3)]):
            assert (result.status, sizes(result.images)) == ("paused", expected)
            notebook: Any = result
            assert notebook._repr_html_().count("<img") == len(expected)
            with Journal(path) as journal:  # as another process reads it
                run = journal.run(str(result.run_id))
                assert run.result is not None
                assert sizes(run.result.images) == sizes(list(run.view().images)) == expected
                assert run.to_html().count("<img") == len(expected)
            result = toolkit.resume(str(result.run_id), {result.pending[0].id: True})
        assert (result.status, sizes(result.images)) == ("done", [(2, 2), (3, 3), (4, 4)])
        with Journal(path) as journal:
            assert journal.run(str(result.run_id)).to_html().count("<img") == 3
        assert sizes(toolkit.replay(str(result.run_id)).images) == [(2, 2), (3, 3), (4, 4)]


def test_program_that_is_ended_keeps_its_pictures(drawing: Toolkit) -> None:
    program = IMPORT + "Image.new('RGB', (2, 2)).show()\nwhile True: pass"
    result = drawing.execute(program, timeout=0.5)
    assert (sizes(result.images), result.status) == ([(2, 2)], "failed")
    assert "TimeoutError" in (result.error or "")


def test_thread_that_draws_at_the_end_breaks_nothing(drawing: Toolkit) -> None:
    program = (
        IMPORT
        + """import threading
def draw():
    while True: Image.new('RGB', (1, 1)).show()
threading.Thread(target=draw, daemon=True).start()
"""
    )
    for _ in range(5):
        result = drawing.execute(program)
        assert (result.error, len(result.images) <= 32) == (None, True)


def test_undrawable_picture_is_a_program_failure(drawing: Toolkit) -> None:
    assert drawing.execute(IMPORT + "Image.new('RGB', (1, 7))").error == "ValueError: cannot be drawn"


def test_excess_pictures_are_omitted_and_counted(drawing: Toolkit) -> None:
    program = IMPORT + "for n in (50, 90, 60, 100_000, 20): Image.new('RGB', (n, n)).show()"
    result = drawing.execute(program)
    assert sizes(result.images) == [(50, 50), (60, 60), (20, 20)]
    assert result.truncated == {"images": 2}
    told = "[Pictures made: 3. Left out, as too large or too many: 2. Draw smaller ones.]"
    assert result.to_string() == told
    many = drawing.execute(IMPORT + "for n in range(40): Image.new('RGB', (1, 1)).show()")
    assert (len(many.images), many.truncated) == (32, {"images": 8})


def test_each_program_of_session_has_its_own_pictures(drawing: Toolkit) -> None:
    with drawing.session() as session:
        assert sizes(session.execute(IMPORT + "Image.new('RGB', (2, 2)).show()").images) == [(2, 2)]
        assert session.execute("1").images == []
        assert sizes(session.execute("Image.new('RGB', (3, 3))").images) == [(3, 3)]


FILES = {
    f"open({FONT!r}, 'rb').read(6)": b"a font",
    f"open({FONT!r}).readlines()": ["a font\n", "of two lines"],
    f"import io\nio.open({FONT!r}, 'rb').name": FONT,
    f"from pathlib import Path\nPath({FONT!r}).read_text(encoding='ascii')[:6]": "a font",
    f"import os\nos.path.isfile({FONT!r}), os.path.getsize({FONT!r}), os.path.isfile('/etc/passwd')": (True, 19, False),
    "from importlib.resources import files\nfiles('paints').joinpath('red.txt').read_text()": "#f00",
    "import os\nos.path.exists('<packages>/PIL/none'), os.path.exists('<packages>/paints/red.txt')": (False, True),
    "import pkgutil\npkgutil.get_data('PIL', 'fonts/a.ttf')[:6]": b"a font",
    "import pkgutil\npkgutil.get_data('PIL.later', 'x.txt')": b"read later",
    "from importlib.resources import files\nfiles('PIL').joinpath('fonts/a.ttf').read_text()[:6]": "a font",
    "from importlib.resources import files\nfiles('PIL.later').joinpath('x.txt').read_bytes()": b"read later",
    "import PIL, os\nos.path.isfile(PIL.__path__[0] + '/fonts/a.ttf')": True,
}


@pytest.mark.parametrize(("program", "value"), FILES.items())
def test_the_data_of_a_package_can_be_read(drawing: Toolkit, program: str, value: object) -> None:
    result = drawing.execute(program)
    assert (result.error, result.return_value) == (None, value)


SECRET = [f"open('<packages>/{name}')" for name in ("PIL/fonts/mine.txt", "secrets.txt", "PIL/../secrets.txt")]


@pytest.mark.parametrize(
    "what", [f"open({FONT!r}, 'w')", "open('/etc/passwd')", "open(0, 'w').x", "open('a')", *SECRET]
)
def test_nothing_else_can_be_opened(drawing: Toolkit, what: str) -> None:
    assert not drawing.execute(what).success


def test_packages_find_an_empty_home(drawing: Toolkit) -> None:
    home = drawing.execute("import PIL\nPIL.home").return_value
    assert Path(home) != Path.home()
    assert not Path(home).exists()


def test_model_gets_pictures_with_call_result(drawing: Toolkit) -> None:
    call: dict[str, Any] = {"code": IMPORT + "print('drawn')\nImage.new('RGB', (2, 2))"}
    model = ScriptedProvider(ToolCall("", "execute_tools", call), "A square.")
    messages, _ = llm().toolkit(drawing).provider(model).converse("Draw.")
    [result] = [each.result for each in messages if isinstance(each, ToolResultMessage)]
    assert [type(each).__name__ for each in result] == ["TextMessage", "ImageMessage"]
    assert result[0].text == "drawn\n[Pictures made: 1.]"


def test_a_notebook_shows_them_beside_harmless_text(drawing: Toolkit) -> None:
    result: Any = drawing.execute(IMPORT + "print('<b>')\nImage.new('RGB', (2, 2))")
    shown = result._repr_html_()
    assert "&lt;b&gt;</pre>" in shown.replace("\n", "")
    assert '<img src="data:image/png;base64,iVBORw0KGgo' in shown
    result = drawing.execute("1")
    assert "<img" not in result._repr_html_()


FIGURES = {
    "open figures": ("plt.plot([1, 2])\nplt.title('$x^2$')\nplt.figure()", 2),
    "a figure as the value": ("fig, ax = plt.subplots()\nax.bar(['a'], [1])\nfig", 1),
    "shown and open ones": ("plt.plot([1])\nplt.show()\nplt.plot([2])", 2),
    "a figure that is shown": ("from matplotlib.figure import Figure\nFigure().show()", 1),
    "what a drawing function returns": ("plt.plot([1, 2])", 1),
    "closed ones": ("plt.plot([1])\nplt.close('all')", 0),
    "one that is too large": ("plt.figure(figsize=(900, 900))", 0),
}


@pytest.mark.skipif(not find_spec("matplotlib"), reason="matplotlib is not installed")
def test_matplotlib_figures_are_returned() -> None:
    with Toolkit([], allow_imports=["matplotlib"], limits=Limits(timeout=60)) as toolkit:
        for name, (program, count) in FIGURES.items():
            result = toolkit.execute(f"import matplotlib.pyplot as plt\n{program}")
            assert (result.error, len(result.images)) == (None, count), name
            assert not (count and result.value_text()), name
        code = "import matplotlib.font_manager as f\n[e.fname for e in f.fontManager.ttflist if e.fname[0] != '<']"
        assert toolkit.execute(code).return_value == []
