from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from report import invented
from unmask.report.html import _card, page
from unmask.types import Findings, Result, Verdict

pytestmark = pytest.mark.slow

VOID = {"meta", "br"}


@pytest.fixture(scope="module")
def html() -> str:
    return page(invented.findings(), "1.2.3")


def order(text: str, *parts: str) -> bool:
    places = [text.index(part) for part in parts]
    return places == sorted(places)


def test_parts_come_in_order(html: str):
    questions = [f"<h2>{question}</h2>" for question in invented.QUESTIONS]
    ends = ["<h2>Attention under noise</h2>", "<h2>Examples</h2>", "<h2>Configuration</h2>"]
    assert order(html, "<h2>Verdicts</h2>", "<h2>Enough and honest</h2>", *questions, *ends)


def test_verdicts_are_words_and_symbols(html: str):
    assert '<span class="badge reject">✕ reject</span>' in html
    assert '<span class="badge trust">✓ trust</span>' in html
    assert '<span class="badge care">! care</span>' in html
    assert "neither enough nor needed" in html


def test_controls_are_judged_apart_and_below(html: str):
    assert "judged by the same rule" not in html
    base = invented.findings()
    told = page(replace(base, verdicts=(*base.verdicts, Verdict("random", "reject", ("no better",)))), "0")
    above, below = told.split("The controls judged by the same rule: ")
    assert below.startswith('<span class="judged">random <span class="badge reject">')
    assert above.count('<article class="card') == len(base.verdicts)
    assert "no better" in below[: below.index("</details>")]


def test_the_first_sentence_and_the_cards_speak_plain_words(html: str):
    start = html[html.index("<h2>Verdicts</h2>") :]
    assert '<p class="summary">Of 5 explanations of ' in start
    assert "answer from it alone<code>fs-m ↑</code>" in start


def test_cards_have_no_number_that_could_not_be_had():
    base = invented.findings()
    name, nan = base.verdicts[0].explanation, float("nan")
    some = {"randomized-model": nan, "encoding-share": nan, "fs-m": 0.5}
    rows = tuple(invented.result(name, check, value) for check, value in some.items())
    card = _card(replace(base, rows=rows), base.verdicts[0])
    assert [(code.split()[0], value) for _, code, value, _ in card.numbers] == [
        ("fs-m", "0.500"),
        ("encoding-share", "unknown"),
    ]


def test_every_check_has_definition_direction_and_null(html: str):
    for check, sentence in invented.DEFINITIONS.items():
        assert f"<code>{check}</code>" in html
        assert sentence.replace("'", "&#39;") in html
    assert "higher is better · 500 examples" in html
    assert "for information; neither end is better" in html
    assert html.count('class="null"') > 50


def test_classes_become_a_grid(html: str):
    grid = html[html.index("by class") :]
    assert re.findall(r'<th scope="col">(\d)</th>', grid[: grid.index("</thead>")]) == [str(c) for c in range(10)]


def test_columns_of_an_agreement_follow_the_explanations(html: str):
    grid = html[html.index("by explanation") :]
    found = re.findall(r'<th scope="col">([^<]+)</th>', grid[: grid.index("</thead>")])
    assert found == list(invented.NAMES[:5])


def test_configuration_is_complete(html: str):
    end = html[html.index("<h2>Configuration</h2>") :]
    for text in ("1.2.3", "removal", "thresholds", "encoding-share", "2.13.0"):
        assert text in end


def test_examples_of_one_input_stand_together(html: str):
    assert html.count('<div class="figures image">') == 2
    assert html.count('<figure class="example">') == 20


def test_attention_is_drawn_with_words_for_those_who_cannot_see_it(html: str):
    assert html.count('<figure class="example map">') == 2
    assert len(re.findall(r'<svg class="map" [^>]*role="img" aria-label="attention over \d+ words', html)) == 2
    without = page(replace(invented.findings(), heats=()), "0")
    assert "Attention under noise" not in without


def test_what_people_marked_stands_beside_every_input(html: str):
    assert "dashed frame" not in html
    assert 'id="places"' not in html
    assert 'id="learning"' not in html
    told = page(invented.rationales(), "1.2.3")
    assert told.count('<figure class="example people">') == 2  # a review of words, one of sentences
    assert told.count('class="unmask-people"') > told.count('<figure class="example">')
    assert "a dashed frame: marked by people" in told


def test_places_and_training_have_pictures():
    told = page(invented.rationales(), "1.2.3")
    part = told[told.index('id="places"') : told.index('id="learning"')]
    assert part.count("<figure") == 1
    assert part.count('<rect class="bar own"') == part.count('<rect class="bar people"') == 5  # four places and the key
    assert "cheater: 1 100%, 2 0%, 3 0%, 4 0%; people: 1 0%, 2 30%" in part
    assert order(told, 'id="places"', 'id="learning"', "<h2>Examples</h2>")
    assert "first unit in the rationale" in told[told.index('id="learning"') :]


def test_without_people_the_choices_stand_beside_chance():
    base = invented.rationales()
    told = page(replace(base, places={name: p for name, p in base.places.items() if name != "people"}), "0")
    part = told[told.index('id="places"') : told.index('id="learning"')]
    assert "bar people" not in part
    assert part.count('class="level"') == 5


def test_nothing_is_loaded(html: str):
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", html)
    assert "http://" not in html
    assert "https://" not in html
    assert "@import" not in html
    assert "<script" not in html


def test_everything_is_escaped():
    html = page(invented.hostile(), "0")
    assert "<script" not in html
    assert html.count("&lt;script&gt;") > 10


class Balance(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        """`<line/>` opens nothing."""

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag


@pytest.mark.parametrize("findings", [invented.findings(), invented.rationales(), invented.hostile()])
def test_tags_are_balanced(findings: Findings):
    parser = Balance()
    parser.feed(page(findings, "0"))
    assert parser.stack == []


def test_findings_of_almost_nothing():
    html = page(Findings("task", "model", (), (Verdict("a", "trust", ()),)), "0")
    assert "✓ trust" in html
    assert "Enough and honest" not in html
    assert "Examples" not in html


def test_checks_without_a_question_come_last():
    base = invented.findings()
    html = page(replace(base, questions={"Only this?": ("fs-m",)}), "0")
    assert order(html, "<h2>Only this?</h2>", "<h2>Other measures</h2>", "<code>fu-m</code>")


def test_values_that_are_missing_leave_a_dash():
    nan = float("nan")
    row = invented.result("a", "encoding-share", nan, low=nan, high=nan, null=None)
    html = page(replace(invented.findings(), rows=(row,)), "0")
    assert '<td class="value">–</td>' in html
    assert "nan" not in html[html.index("<h2>Does") : html.index("<h2>Examples")]


def test_a_check_that_does_not_apply_is_said_once():
    base = Result("a", "gap", float("nan"), float("nan"), float("nan"), None, "lower", None, 0, 0.0, note="has none")
    told = replace(base, explanation="l2x", value=0.5, low=0.4, high=0.6, n=7, note="")
    rows = (base, replace(base, explanation="b"), told, replace(base, explanation="c", note="another reason"))
    html = page(Findings("t", "m", rows, ()), "0")
    assert html.count("has none") == 1
    assert "not for a, b: has none" in html
    assert html.count("another reason") == 1
    assert "7 examples" in html


def test_a_note_of_several_explanations_is_said_once_above_the_table():
    base = Result("a", "gap", 0.5, 0.4, 0.6, 0.1, "lower", None, 7, 0.0, note="100 of the rows")
    rows = (base, replace(base, explanation="b"))
    html = page(Findings("task", "model", rows, ()), "1")
    assert '<p class="aside">100 of the rows</p>' in html
    assert html.count("100 of the rows") == 1
    html = page(Findings("task", "model", (*rows, replace(base, explanation="c", note="drawn anew")), ()), "1")
    assert '<p class="aside">a, b: 100 of the rows</p>' in html
    assert "c<small>drawn anew</small>" in html


def test_the_matrix_between_explanations_is_open_and_that_by_class_is_not(html: str):
    before = {by: html[: html.index(f"by {by}")].rpartition("<details")[2] for by in ("class", "explanation")}
    assert before["explanation"].startswith(" open>")
    assert before["class"].startswith(">")


def test_names_of_classes_may_hold_any_sign():
    rows = tuple(invented.result("a", f"fs-m@class={name}", 0.5) for name in ("<=50K", ">50K", "a=b"))
    html = page(replace(invented.findings(), rows=(invented.result("a", "fs-m", 0.5), *rows)), "0")
    grid = html[html.index("by class") :]
    assert re.findall(r'<th scope="col">([^<]+)</th>', grid[: grid.index("</thead>")]) == ["&lt;=50K", "&gt;50K", "a=b"]
