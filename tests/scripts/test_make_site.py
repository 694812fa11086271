"""The site's pages: complete, with their links led to files, and without requests to other hosts."""

import json
import re
from pathlib import Path

import pytest

from scripts.make_cli_reference import PAGE, render
from scripts.make_site import SiteError, find_foreign_requests, navigation, stage

FENCE = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)


def test_command_line_reference_is_current() -> None:
    """Write it with `python scripts/make_cli_reference.py`, or `make format`."""
    pytest.importorskip("cyclopts", reason="the extra `cli` is not installed")
    assert PAGE.read_text(encoding="utf-8") == render()


def test_every_page_stands_in_the_navigation(repository: Path, tmp_path: Path) -> None:
    stage(repository, tmp_path / "source", navigation())
    overview = (tmp_path / "source" / "llms.txt").read_text(encoding="utf-8")
    assert "- [Approvals](approvals.md): " in overview
    assert "# Approvals\n" in (tmp_path / "source" / "llms-full.txt").read_text(encoding="utf-8")


def test_links_of_the_texts_for_models_lead_to_pages(repository: Path, tmp_path: Path) -> None:
    stage(repository, tmp_path / "source", navigation())
    for name in ("llms.txt", "llms-full.txt"):
        text = (tmp_path / "source" / name).read_text(encoding="utf-8")
        prose = re.sub(r"^( *)(`{3,}).*?^\1\2 *$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
        links = {link for link in re.findall(r"\]\(([^)#\s]+)", prose) if "://" not in link}
        assert len(links) > 80
        assert [link for link in sorted(links) if not (tmp_path / "source" / link).is_file()] == []


def test_overview_for_models_has_a_sentence_of_each_page(repository: Path, tmp_path: Path) -> None:
    stage(repository, tmp_path / "source", navigation())
    lines = (tmp_path / "source" / "llms.txt").read_text(encoding="utf-8").splitlines()
    abstracts = [line.partition(")")[2].removeprefix(": ") for line in lines if line.startswith("- ")]
    assert [text for text in abstracts if text and (text[0] in "#|!<-*" or text.startswith("pip "))] == []
    assert len([text for text in abstracts if not text]) <= 3  # pages of nothing but code


@pytest.fixture
def small_site(tmp_path: Path) -> Path:
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    (tmp_path / "shop.py").write_text("print(1)\n", encoding="utf-8")
    (tmp_path / "NOTES.md").write_text("# Notes\n\nBack to [one](docs/one.md).\n", encoding="utf-8")
    one = '# One\n\nSee [two](deep/two.md#end).\n\n```python skip="slow"\nf = "[x](../shop.py)"\n```\n'
    (tmp_path / "docs" / "one.md").write_text(one, encoding="utf-8")
    two = "# Two\n\nSee [the shop](../../shop.py), [notes](../../NOTES.md) and [none](../gone.md).\n"
    (tmp_path / "docs" / "deep" / "two.md").write_text(two, encoding="utf-8")
    return tmp_path


def test_links_out_of_the_pages_lead_to_copies(small_site: Path) -> None:
    target = small_site / "site"
    stage(small_site, target, [("Start", ["one.md", "deep/two.md"])])
    two = (target / "deep" / "two.md").read_text(encoding="utf-8")
    assert "[the shop](../project/shop.py.md), [notes](../project/NOTES.md) and [none](../gone.md)" in two
    assert "[one](../one.md)" in (target / "project" / "NOTES.md").read_text(encoding="utf-8")
    assert "````python\nprint(1)\n````" in (target / "project" / "shop.py.md").read_text(encoding="utf-8")


def test_notebook_becomes_a_page_of_its_cells(small_site: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Shop\n", "Prices."]},
        {"cell_type": "code", "source": ["a = 1\n", "a"], "outputs": [{"text": "1"}]},
    ]
    (small_site / "shop.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    (small_site / "docs" / "one.md").write_text("# One\n\n[shop](../shop.ipynb)\n", encoding="utf-8")
    stage(small_site, small_site / "site", [("Start", ["one.md", "deep/two.md"])])
    page = (small_site / "site" / "project" / "shop.ipynb.md").read_text(encoding="utf-8")
    assert page == "# `shop.ipynb`\n\n## Shop\nPrices.\n\n````python\na = 1\na\n````\n"


def test_code_keeps_its_text_without_settings(small_site: Path) -> None:
    target = small_site / "site"
    stage(small_site, target, [("Start", ["one.md", "deep/two.md"])])
    assert '```python\nf = "[x](../shop.py)"\n```' in (target / "one.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("paths", [["one.md"], ["one.md", "deep/two.md", "three.md"]])
def test_page_missing_on_either_side_is_named(small_site: Path, paths: list[str]) -> None:
    with pytest.raises(SiteError, match=r"three\.md|two\.md"):
        stage(small_site, small_site / "site", [("Start", paths)])


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/a.js"></script>',
        "<img alt=x src=//cdn.example/a.png>",
        '<link rel="stylesheet" href="https://fonts.example/css">',
        '<link href="https://fonts.example" rel=preconnect>',
        "@import url(https://fonts.example/css);",
        "a { background: url('//cdn.example/b.png') }",
    ],
)
def test_requests_to_other_hosts_are_found(text: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        f'<a href="https://example.com">a link is no request</a>{text}', encoding="utf-8"
    )
    assert len(find_foreign_requests(tmp_path)) == 1


def test_links_and_own_files_are_no_requests(tmp_path: Path) -> None:
    page = '<a href="https://example.com">link</a><script src="assets/a.js"></script><link rel=icon href="x.png">'
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    assert find_foreign_requests(tmp_path) == []


def test_no_heading_is_cut_off_in_the_navigation(repository: Path) -> None:
    """The builder cuts the HTML of a heading of more than a hundred characters, within a tag as well."""
    for page in (repository / "docs").rglob("*.md"):
        headings = re.findall(r"^#{1,4} .*`.*$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
        assert [heading for heading in headings if len(heading) > 80] == [], page
