"""Base systems: each is trained into a folder, loaded, and decodes into lists or forests."""

from __future__ import annotations

from typing import Any

from nbest.base.registry import Registry
from nbest.systems.base import Training

SYSTEMS: Registry[type[Training[Any]]] = Registry(
    "system",
    {
        "lm": "lm:LanguageModelTraining",
        "translator": "translator.system:TranslatorTraining",
        "tagger": "tagger.system:TaggerTraining",
        "parser": "parser.system:ParserTraining",
        "converter": "converter.system:ConverterTraining",
    },
    group="nbest.systems",
    room="nbest.systems",
)
"""How systems are trained and loaded, by the name used on the command line; the first does not decode."""
