"""The connection of this process to a Ray cluster: there is one at most, which all executors share."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import warnings
import weakref
from typing import Any

from nbest.base.errors import CapabilityError, ParameterError, WorkerError
from nbest.compute.executors import Threads
from nbest.compute.ray_crew import first_line

_SECONDS = 10.0  # after which a port that does not answer is said to be none


class _Connection:
    """Made by the first executor that needs it, and ended with the last; one that the program made is left alone."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users: weakref.WeakSet[Any] = weakref.WeakSet()  # executors, where one of them made it
        self.address = ""

    def join(self, user: Any, address: str | None) -> Any:
        """The package, connected to the cluster of an address."""
        with self.lock:
            ray = _package()
            if not ray.is_initialized():
                self.users.clear()
                self.address = address or os.environ.get("RAY_ADDRESS") or "local"
                _connect(ray, self.address)
                self.users.add(user)
            elif address not in (None, "auto") and not self._is_at(ray, str(address)):
                raise ParameterError(
                    f"this process is connected to another Ray cluster than {address}; close what uses that one first, "
                    "or leave out the address"
                )
            elif self.users:
                self.users.add(user)
            return ray

    def leave(self, user: Any) -> None:
        """An executor does not need it any more."""
        with self.lock:
            if user in self.users:
                self.users.discard(user)
                if not self.users:
                    _package().shutdown()

    def _is_at(self, ray: Any, address: str) -> bool:
        """Whether that is where the connection goes, as far as can be known."""
        if self.users:
            return address == self.address
        if "://" in address:
            return bool(ray.util.client.ray.is_connected())  # which does not say where
        own = ray.get_runtime_context().gcs_address
        return address.rpartition(":")[2] == own.rpartition(":")[2]


CONNECTION = _Connection()


def _package() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import ray
    except ImportError:
        raise CapabilityError("this needs the package ray; install it: pip install 'nbest[ray]'") from None
    return ray


def _connect(ray: Any, address: str) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM) if main else None
    how: dict[str, Any] = {"num_cpus": Threads().workers, "include_dashboard": False} if address == "local" else {}
    try:
        _check_port(address)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ray.init(address, logging_level=logging.ERROR, log_to_driver=False, **how)
    except (OSError, RuntimeError, ValueError, ImportError) as error:
        raise WorkerError(f"no Ray cluster could be reached at {address}: {first_line(error)}") from None
    finally:
        if main and before is not None:
            signal.signal(signal.SIGTERM, before)  # which Ray has made its own
    _hush()


def _check_port(address: str) -> None:
    """Ask whether anybody answers there: Ray would try for minutes, and write of every try."""
    scheme, _, place = address.rpartition("://")
    host, _, port = place.rpartition(":")
    if scheme in ("", "ray") and host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), _SECONDS).close()


def _hush() -> None:
    """Let Ray not print long messages on standard output when a worker is lost, whatever it was told."""
    from ray._private import worker

    if hasattr(worker, "_worker_logs_enabled"):
        worker._worker_logs_enabled = False
