"""What columns of tables are called, wherever there are rows of hypotheses or of scores: one list of names for all."""

from __future__ import annotations

import re

IDS = ("id", "segment", "segment_id", "seg_id", "utt", "utt_id", "custom_id", "question_id", "prompt_id", "sentence_id")
"""The id of the segment; of these, as of all others here, the first that is there counts."""
TEXTS = ("text", "hypothesis", "hyp", "candidate")
"""The text of the hypothesis; in tables of scores `hyp` and `candidate` may hold its number instead."""
PLACES = ("index", "sample", "choice", "hyp_id", "sample_id", "candidate_id")
"""The number of the hypothesis in its list."""
INDICES = (*PLACES, "hyp", "candidate", "rank")
"""The same in tables of scores, where the column holds numbers."""
SYSTEMS = ("system", "model", "translator")
"""Who made the hypothesis."""
SOURCES = ("source", "src")
"""The input of the segment."""
GROUPS = ("group", "doc")
"""What the segment belongs to."""
REFERENCE = re.compile(r"(ref|reference)s?_?[0-9]*").fullmatch
"""A reference, or one of several with numbers."""
NO_SCORES = ("gain", "answer", *SOURCES, *GROUPS, "reference", "references")
"""Columns of numbers that are no scores unless they are asked for."""
