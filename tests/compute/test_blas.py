"""The BLAS has one thread while anybody trains, whoever comes and goes beside."""

from __future__ import annotations

from threading import Barrier, Thread

from threadpoolctl import threadpool_info, threadpool_limits

from nbest.compute.blas import ONE_BLAS_THREAD
from nbest.testing import toy_lists
from nbest.trainers import MaxLikelihood


def threads() -> set[int]:
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_it_holds_until_the_last_has_left() -> None:
    with threadpool_limits(2, user_api="blas"):
        before, inside, left = threads(), Barrier(2), Barrier(2)

        def visit() -> None:
            with ONE_BLAS_THREAD:
                inside.wait()
            left.wait()

        other = Thread(target=visit)
        with ONE_BLAS_THREAD:
            other.start()
            inside.wait()
            left.wait()
            assert threads() == {1}
        other.join()
        assert threads() == before


def test_all_of_fit_has_one_thread(monkeypatch) -> None:
    seen = []
    monkeypatch.setattr("nbest.trainers.dense.likelihood.finish", lambda *given, **options: seen.append(threads()))
    with threadpool_limits(2, user_api="blas"):
        MaxLikelihood().fit(toy_lists(1))
        assert seen == [{1}]
        assert threads() == {2}
