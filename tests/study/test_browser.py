"""The page in a real browser: keys, buttons, the file that comes out, and its score."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

import unmask
from browser import Browser, needed
from study import samples

pytestmark = [pytest.mark.slow, needed]

# A visitor: types a name, then does what `does` says; the file it would download is left in the page.
VISITOR = """
(async () => {
  const reading = [];
  const press = key => document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const click = id => document.querySelector(id).click();
  const put = (id, text) => {
    document.body.append(Object.assign(document.createElement("pre"), { id, textContent: text }));
  };
  URL.createObjectURL = blob => { reading.push(blob.text().then(text => put("file", text))); return "#"; };
  HTMLAnchorElement.prototype.click = function () { put("called", this.download); };
  document.getElementById("name").value = "Zoë O'Neil";
  document.getElementById("start").requestSubmit();
  DOES
  await Promise.all(reading);
  return document.documentElement.outerHTML;
})()
"""


def visited(place: Path, does: str = "") -> tuple[str, list[str]]:
    """What the page has become after the visit, once nothing is under way any more, and what it complained of."""
    with Browser(place.parent) as browser:
        browser.open(place / "index.html")
        dom: str = browser.run(VISITOR.replace("DOES", does))
        return dom, browser.complaints()


def inside(dom: str, name: str) -> str:
    found = re.search(rf'<pre id="{name}">(.*?)</pre>', dom, re.S)
    assert found is not None
    return unescape(found.group(1))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    data = samples.texts()
    e = samples.explained(data, [[1], [0, 2], [0, 1, 2], [1]], [1, 0, 1, 0])
    return unmask.export_study(e, data, tmp_path / "study")


def test_answers_by_key_and_button_come_back_as_a_score(place: Path) -> None:
    does = """
      press("2"); press("1"); press("ArrowLeft"); press("2");  // item 2 is answered again
      press("ArrowRight");                                      // item 3 is left out
      press("x"); click("#answers button"); click("#end .download");
    """
    dom, errors = visited(place, does)
    assert errors == []
    assert "The end, but 1 of 4 items have no answer" in dom
    assert inside(dom, "called") == "answers-Zoë-O-Neil.csv"
    (place / "answers-zoe.csv").write_text(inside(dom, "file"), encoding="utf-8")
    score = unmask.score_study(place)["by-hand"]
    key = list(key_of(place).values())
    said = ["good", "good", None, "bad"]
    right = sum(item["answer"] == answer for item, answer in zip(key, said, strict=True))
    assert score.annotators == {"Zoë O'Neil": right / 3}
    assert (score.answers, score.missing) == (3, 1)


def key_of(place: Path) -> dict[str, dict[str, str]]:
    items: dict[str, dict[str, str]] = json.loads((place / "key.json").read_text("utf-8"))["items"]
    return items


def test_answers_are_there_after_coming_back(place: Path) -> None:
    visited(place, 'press("1"); press("2");')
    dom, _ = visited(place)
    assert "Item 3 of 4" in dom
    assert re.search(r'<progress[^>]* value="2"', dom)


def test_one_item_at_a_time_and_markup_stays_text(place: Path) -> None:
    dom, errors = visited(place, 'while (!document.querySelector("#shown p").textContent.includes("<b>")) press("1");')
    assert errors == []
    shown = re.search(r'<div id="shown".*?</div>', dom, re.S)
    assert shown is not None
    assert shown.group(0).count("<p>") == 1
    assert 'bad &lt;b&gt;bold&lt;/b&gt; "quoted"' in shown.group(0)
    assert re.findall(r"<kbd>(.)</kbd>(\w+)</button>", dom)[:2] == [("1", "bad"), ("2", "good")]


def test_pictures_and_tables_are_drawn(tmp_path: Path) -> None:
    data = samples.pictures()
    place = unmask.export_study(samples.explained(data, [[0, 3]] * 4, [0, 1, 0, 1]), data, tmp_path / "a" / "study")
    dom, errors = visited(place, 'await document.querySelector("#shown img").decode(); document.title = "decoded";')
    assert errors == []
    assert "<title>decoded</title>" in dom
    table = samples.table()
    kept = samples.explained(table, [[0, 1]] * 4, [0, 1, 0, 1])
    dom, errors = visited(unmask.export_study(kept, table, tmp_path / "b" / "study"))
    assert errors == []
    assert re.search(r'<th scope="row">town</th><td>(York|Bath)</td>', dom)


def test_classes_called_by_a_digit_have_that_key(tmp_path: Path) -> None:
    data = replace(samples.texts(), classes=("0", "1"))
    place = unmask.export_study(samples.explained(data, [[0]] * 4, [0, 1, 0, 1]), data, tmp_path / "study")
    dom, _ = visited(place, 'press("1"); press("0"); click("#asking .download");')
    assert re.findall(r"<kbd>(.)</kbd>(\w+)</button>", dom)[:2] == [("0", "0"), ("1", "1")]
    assert re.findall(r'"item-000.","(.*?)"', inside(dom, "file")) == ["1", "0", "", ""]
