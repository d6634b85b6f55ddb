"""Kernels of the accelerator: on a CUDA device where there is one, else by Triton's interpreter, on small cases."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

from nbest.objectives.cuda import CudaBackend

_MISSING = [name for name in ("torch", "triton") if find_spec(name) is None]


def _has_device() -> bool:
    if _MISSING:
        return False
    import torch

    return bool(torch.cuda.is_available())


HAS_DEVICE = _has_device()
if not HAS_DEVICE:
    os.environ.setdefault("TRITON_INTERPRET", "1")  # before Triton is imported


@pytest.fixture(scope="session")
def device() -> str:
    """The device that kernels are tried on."""
    if _MISSING:
        pytest.skip(f"{' and '.join(_MISSING)} missing: pip install 'nbest[gpu]'")
    return "cuda" if HAS_DEVICE else "cpu"


@pytest.fixture(scope="session")
def backend(device: str) -> CudaBackend:
    """Its backend."""
    return CudaBackend(device)


@pytest.fixture(scope="session")
def hardware(device: str) -> str:
    """A real device, or a skip."""
    if not HAS_DEVICE:
        pytest.skip("there is no CUDA device here")
    return device
