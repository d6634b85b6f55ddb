def test_agreement_is_normalised_as_the_metric_is() -> None:
    import nbest
    from nbest.features import apply_recipes, fit_recipes

    rows = [{"id": 1, "text": text, "references": "a b"} for text in ("A b.", "a B", "c d", "a b")]
    lists = nbest.from_records(rows).with_metric(nbest.WER(normalize="punct+lower"))
    (recipe,) = fit_recipes(lists, [{"kind": "agreement"}])
    assert recipe == {"kind": "agreement", "normalize": "punct+lower"}
    plain = nbest.from_records([{**row, "text": row["text"].lower().strip(".")} for row in rows])
    expected = apply_recipes(plain, [{"kind": "agreement"}]).column("agreement")
    assert apply_recipes(lists, [recipe]).column("agreement").tolist() == expected.tolist()
    other = nbest.from_records(rows)
    assert apply_recipes(other, [recipe]).column("agreement").tolist() == expected.tolist()
    assert fit_recipes(other, [{"kind": "agreement"}]) == ({"kind": "agreement"},)
