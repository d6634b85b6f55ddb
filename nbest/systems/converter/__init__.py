"""The kana-kanji converter."""
