"""Lists as Python's own sequences, and as HTML."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest

from nbest.base.errors import ParameterError
from nbest.corpus import Texts
from nbest.formats.lists.base import sparse_row
from nbest.testing import toy_lists


def test_segments_and_hypotheses_by_number_and_id():
    lists = toy_lists(sparse=True)
    assert lists.texts is not None
    segment = lists[3]
    low, high = lists.offsets[[3, 4]].tolist()
    assert (segment.id, segment.source, segment.group) == (lists.ids[3], lists.sources[3], None)
    assert segment.references == lists.references[3]
    assert [each.text for each in segment] == [lists.texts[h] for h in range(low, high)]
    assert len(segment) == high - low
    assert segment[-1].text == lists.texts[high - 1]
    assert [each.number for each in segment[:2]] == [low, low + 1]
    dense = dict(zip(lists.feature_names, lists.features[low].tolist(), strict=True))
    assert segment[0].features == dense | {k: v for k, v in sparse_row(lists, low).items() if v}
    assert lists[lists.ids[3]] == lists[3 - len(lists)] == segment
    assert len(lists[1]) == 0
    assert not list(lists[1])


def test_iteration_goes_over_all_segments():
    lists = toy_lists()
    assert [segment.id for segment in lists] == list(lists.ids)
    assert sum(map(len, lists)) == lists.hypotheses


def test_slices_are_lists():
    lists = toy_lists()
    assert lists[2:5] == lists.between(2, 5)
    assert lists[::-2].ids == lists.ids[::-2]


def test_what_is_not_there():
    lists = toy_lists()
    with pytest.raises(IndexError):
        lists[len(lists)]
    with pytest.raises(IndexError):
        lists[1][0]
    with pytest.raises(ParameterError, match=r"no segment is called 's300'; .*s3"):
        lists["s300"]
    bare = replace(lists, texts=None, references=None, sources=None)[0]
    assert (bare.source, bare.references, bare[0].text, bare[0].gain, bare[0].answer) == (None, (), None, None, None)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        assert not attrs


def test_html_escapes_what_comes_from_data():
    lists = toy_lists()
    assert lists.texts is not None
    evil = ["<script>alert(1)</script>" + text for text in lists.texts]
    html = replace(lists, texts=Texts.of(evil), feature_names=("<b onclick=x>", "second", "third"))._repr_html_()
    page = _Tags()
    page.feed(html)
    assert page.tags == {"p", "table", "tr", "td"}
    assert "&lt;script&gt;" in html
    assert "... 25 more" in html
