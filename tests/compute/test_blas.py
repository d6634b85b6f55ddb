"""The BLAS has one thread while anybody trains, whoever comes and goes beside."""

from __future__ import annotations

import ctypes
import shutil
import sys
from pathlib import Path
from threading import Barrier, Thread
from types import ModuleType

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from nbest.compute.blas import ONE_BLAS_THREAD
from nbest.testing import toy_lists
from nbest.trainers import MaxLikelihood


def libraries() -> list[str]:
    return [each["filepath"] for each in threadpool_info() if each["user_api"] == "blas"]


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


def test_a_library_that_came_with_a_later_module_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ONE_BLAS_THREAD:
        before = libraries()
    copy = tmp_path / Path(before[0]).name
    shutil.copy(before[0], copy)
    with threadpool_limits(2, user_api="blas"):
        ctypes.CDLL(str(copy))
        monkeypatch.setitem(sys.modules, "with_a_blas", ModuleType("with_a_blas"))
        assert len(libraries()) == len(before) + 1
        with ONE_BLAS_THREAD:
            assert threads() == {1}
