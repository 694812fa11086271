"""What a notebook shows of programs, in a real kernel, and as the page it is exported to."""

from pathlib import Path
from typing import Any, Final

import pytest

_REASON: Final = "not installed: `make test-examples` runs this"
nbclient: Any = pytest.importorskip("nbclient", reason=_REASON)
nbconvert: Any = pytest.importorskip("nbconvert", reason=_REASON)
nbformat: Any = pytest.importorskip("nbformat", reason=_REASON)
pytest.importorskip("ipykernel", reason=_REASON)

_CELLS: Final = {
    "toolkit": """
from ez_ptc import ProgramEnded, ScriptedProvider, ToolCall, Toolkit, ez_tool, llm

@ez_tool(read_only=True)
def price_of(product: str) -> float:
    '''Look up the price of a product.'''
    return {"lamp": 39.5, "desk": 240.0}[product]

@ez_tool(requires_approval=True)
def refund(customer: str, amount: float) -> str:
    '''Refund a customer.'''
    return f"refunded {amount} to {customer}"

toolkit = Toolkit([price_of, refund], journal="runs.db", allow_imports=["pandas", "matplotlib"], timeout=120)
toolkit
""",
    "extension": "%load_ext ez_ptc",
    "result": "%%ez_ptc toolkit --out total\nprint('both:')\nprice_of('lamp') + price_of('desk')",
    "variable": "total.return_value",
    "error": "%%ez_ptc\nprint('</pre><script>alert(1)</script>\\x1b[31m')\nprice_of('lamp') / 0",
    "table": "%%ez_ptc\nimport pandas\npandas.DataFrame({'name': ['lamp', 'desk'], 'price': [39.5, 240.0]})",
    "picture": "%%ez_ptc\nfrom matplotlib import pyplot\nfigure, axes = pyplot.subplots()\naxes.plot([1, 3])\nfigure",
    "stream": "*_, last = toolkit.stream(\"for n in ['lamp', 'desk']:\\n    print(n, price_of(n))\")\nlast.result",
    "pending": "%%ez_ptc --out paused\nprint(refund('Ada', 12.5))",
    "resume": "toolkit.resume(paused.run_id, {paused.pending[0].id: True})",
    "conversation": """
program = "print(price_of('lamp'))"
model = ScriptedProvider(ToolCall("", "execute_tools", {"code": program}), "A lamp costs 39.5.")
llm().toolkit(toolkit).provider(model).converse("What does a lamp cost?")
""",
    "journal": "toolkit.journal",
    "mistake": "%%ez_ptc tolkit\n1",
}


def _execute(folder: Path) -> tuple[dict[str, list[dict[str, Any]]], str]:
    """Return the outputs of the cells by their names, and the exported page."""
    cells = [nbformat.v4.new_code_cell(source.strip()) for source in _CELLS.values()]
    notebook = nbformat.v4.new_notebook(cells=cells)
    cells[-1].metadata.tags = ["raises-exception"]
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()
    page, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
    return {name: cell.outputs for name, cell in zip(_CELLS, notebook.cells, strict=True)}, page


@pytest.mark.security
def test_notebook_shows_programs_as_they_are(tmp_path: Path) -> None:
    outputs, page = _execute(tmp_path)

    def html_of(name: str, number: int = -1) -> str:
        html = str(outputs[name][number]["data"]["text/html"])
        assert "<script" not in html
        return html

    assert outputs["extension"] == []
    calls, result = outputs["result"]
    assert (calls["output_type"], result["output_type"]) == ("display_data", "execute_result")
    assert "price_of(&quot;desk&quot;)" in html_of("result", 0)
    assert "calls: 2" in html_of("result", 0)
    assert "279.5" in html_of("result")
    assert result["data"]["text/plain"].splitlines()[:2] == ["both:", "279.5"]
    assert outputs["variable"][0]["data"]["text/plain"] == "279.5"
    assert "ZeroDivisionError: float division by zero" in html_of("error")
    assert "&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;\\x1b[31m" in html_of("error")
    assert ">lamp</td>" in html_of("table")
    assert "2 rows × 2 columns" in html_of("table")
    assert 'src="data:image/png;base64,' in html_of("picture")
    assert "lamp 39.5\ndesk 240.0" in html_of("stream")
    assert "Allow refund" in html_of("pending")
    assert "refunded 12.5 to Ada" in html_of("resume")
    assert "What does a lamp cost?" in html_of("conversation")
    assert "print(price_of(&#x27;lamp&#x27;))" in html_of("conversation")
    assert "paused" not in html_of("journal")
    assert outputs["mistake"][0]["text"].startswith("UsageError: no variable tolkit: did you mean 'toolkit'?")
    assert "alert(1)" in page
    assert "<script>alert(1)" not in page
