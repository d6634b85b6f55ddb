"""`nbest.Ray`: passes over the shards of a corpus on the workers of a Ray cluster, on this machine or many."""

from __future__ import annotations

import math
import pickle
import threading
import warnings
from collections import Counter, deque
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from nbest.base.errors import ParameterError, WorkerError
from nbest.compute import parallel
from nbest.compute.executors import Threads
from nbest.compute.ray_connection import CONNECTION
from nbest.compute.ray_crew import Crew, Member, first_line
from nbest.compute.ray_worker import Item, Outcome

R = TypeVar("R")
_TRIES = 3  # workers that one shard may end
_WAIT = 1.0  # seconds after which the cluster is looked at again
_PATIENCE = 10.0  # seconds without any worker before that is said
_PIECES = 4  # messages for each worker, at least, where items can go anywhere


class Traffic(NamedTuple):
    """What has been sent so far."""

    passes: int
    sent: int  # bytes to workers, shards included
    received: int


class Ray:
    """Runs passes on workers of a Ray cluster (https://docs.ray.io; `pip install 'nbest[ray]'`).

    with nbest.using(nbest.Ray(workers=4)): ...
    nbest.MinRisk(executor=nbest.Ray("ray://host:10001")).fit(dev)

    address   of a cluster: ray://host:port, host:port or auto; else the one that RAY_ADDRESS names, or that the program
              has connected to; else a cluster of this machine alone is started
    workers   processes; None: as many as the cluster has room for, more when machines join
    cores     threads of each; None: up to four where the number of workers is open, else what there is for each
    say       told of workers that are lost

    A shard is sent once and stays with its worker. Results are those of one thread, to the bit. Shards of a worker that
    is lost go to others and the pass is done again for them; a shard that by itself ends three workers is a
    `WorkerError`. In another process it is `Threads`.
    """

    apart = True
    threads: int | None = None

    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        cores: int | None = None,
        say: Callable[[str], None] = lambda message: None,
    ) -> None:
        for name, value in (("workers", workers), ("cores", cores)):
            if value is not None and value < 1:
                raise ParameterError(f"{name!r} of Ray must be >= 1, got {value}")
        self.address, self.say = address, say
        self._ray = CONNECTION.join(self, address)
        self.warned: dict[str, dict[Any, Any]] = {}  # what was said of each file: as here, once where filters say so
        self._numbers = threading.Condition()
        self._at_work = self._passes = self._sent = self._received = 0
        self.crew = Crew(self._ray, workers, cores, say)

    def __repr__(self) -> str:
        return f"Ray({'' if self.address is None else repr(self.address)}, {self.status})"

    def __reduce__(self) -> tuple[type[Threads], tuple[()]]:
        return Threads, ()

    def __deepcopy__(self, memo: Any) -> Ray:
        return self

    @property
    def workers(self) -> int:
        """How many there are, or will be."""
        return max(1, self.crew.size)

    @property
    def status(self) -> str:
        """What there is to say of it while it works."""
        there, size = len(self.crew.there), self.crew.size
        lost = f", {self.crew.lost_count} lost" if self.crew.lost_count else ""
        return f"{there if there == size else f'{there} of {size}'} workers{lost}, {self._passes} passes"

    @property
    def traffic(self) -> Traffic:
        """What has been sent so far."""
        return Traffic(self._passes, self.crew.packer.sent + self._sent, self._received)

    def map(
        self, function: Callable[[Any], R], shards: Sequence[Any], told: Callable[[int], Any] | None = None
    ) -> list[R]:
        """In order."""
        shards = list(shards)
        if not shards:
            return []
        with self._numbers:
            self._passes += 1
            self._at_work += 1
        try:
            return _Pass(self, function, shards, told).run()
        finally:
            with self._numbers:
                self._at_work -= 1
                self._numbers.notify_all()

    def count(self, *, sent: int = 0, received: int = 0) -> None:
        """So many bytes were sent with a call, or have come."""
        with self._numbers:
            self._sent += sent
            self._received += received

    def close(self) -> None:
        """End the workers, and with the last executor the connection that was made for them, or the cluster that was
        started; passes of other threads end in an error.

        They are waited for: Ray starts another cluster for who asks it anything after its end.
        """
        self.crew.close()
        with self._numbers:
            self._numbers.wait_for(lambda: not self._at_work, _PATIENCE)
        CONNECTION.leave(self)

    def __enter__(self) -> Ray:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Errand(NamedTuple):
    """What a worker is at."""

    member: Member
    places: list[int]
    anyone: bool  # whether any worker could do it: each has one such call at a time


class _Pass:
    """One call of `map`: what is to be done, where it is being done, and what came back."""

    def __init__(
        self, executor: Ray, function: Callable[[Any], Any], shards: list[Any], told: Callable[[int], Any] | None
    ) -> None:
        self.executor, self.crew, self.shards, self.told = executor, executor.crew, shards, told
        self.ray, self.function = executor._ray, function
        self.held = deque(place for place, shard in enumerate(shards) if _held(shard))
        self.free = deque(place for place, shard in enumerate(shards) if not _held(shard))
        self.alone: deque[int] = deque()  # of lost workers: one of them may be why
        self.again: deque[int] = deque()  # held by nobody after all
        self.flight: dict[Any, _Errand] = {}
        self.lost: Counter[int] = Counter()  # how many workers each has ended by itself
        self.astray: Counter[int] = Counter()  # how often files were not found
        self.results: dict[int, Any] = {}
        self.errors: dict[int, Exception] = {}
        self.begun = monotonic()

    def run(self) -> list[Any]:
        if self.crew.closed:
            raise WorkerError("the executor was closed")
        with self.crew.lock:
            self.crew.tidy()
        self._pack()
        try:
            while len(self.results) + len(self.errors) < len(self.shards):
                if self.crew.closed:
                    raise WorkerError("the executor was closed before all was done")
                if parallel.interrupted():
                    raise WorkerError("a thread beside this one was interrupted")
                self.crew.look()
                if not self.errors:
                    self._send()
                elif not self.flight:
                    break
                self._receive()
        except ConnectionError as error:  # as Ray's client says it
            if type(error) is not ConnectionError:
                raise
            self.crew.abandon()
            raise WorkerError(f"the connection to the Ray cluster is lost: {first_line(error)}") from None
        finally:
            for call in self.flight.values():
                self._free(call)
        if self.errors:
            raise self.errors[min(self.errors)]
        return [self.results[place] for place in range(len(self.shards))]

    def _pack(self) -> None:
        self.maps_files, self.message = self.crew.packer.files, self.crew.packer.pack(self.function).message

    # sending -----------------------------------------------------------------------------------------------------

    def _send(self) -> None:
        """All shards to their workers, a message for each of these; other items to workers that are free."""
        with self.crew.lock:
            if not self.crew.there:
                return
            groups: dict[Member, tuple[list[int], list[Item]]] = {}
            for queue, member_of in ((self.held, self.crew.member_of), (self.again, self.crew.again)):
                while queue:
                    place = queue.popleft()
                    member, item = member_of(self.shards[place])
                    if item.message is not None:  # it can be loaded while others are packed
                        self._call(_Errand(member, [place], False), [item])
                        continue
                    places, items = groups.setdefault(member, ([], []))
                    places.append(place)
                    items.append(item)
            for member, (places, items) in groups.items():
                self._call(_Errand(member, places, False), items)
            working = {call.member for call in self.flight.values()}
            for member in self.crew.there:
                if member.busy or not (self.free or (self.alone and member not in working)):
                    continue
                places, items = self._next(member, member not in working)
                self._call(_Errand(member, places, True), items)

    def _next(self, member: Member, idle: bool) -> tuple[list[int], list[Item]]:
        """What a worker does next: an item of a lost one by itself, else some of those that are left."""
        if self.alone and idle:
            place = self.alone.popleft()
            shard = self.shards[place]
            if _held(shard):
                return [place], [self.crew.given(shard, member)[1]]
            return [place], [Item(None, self.crew.packer.pack(shard).message)]
        count = max(1, len(self.free) // (_PIECES * self.executor.workers))
        places = [self.free.popleft() for _ in range(count)]
        return places, [Item(None, self.crew.packer.pack(self.shards[place]).message) for place in places]

    def _call(self, call: _Errand, items: list[Item]) -> None:
        member = call.member
        forget, member.forget = member.forget, []
        self.flight[member.actor.work.remote(self.message, items, forget)] = call
        member.busy = member.busy or call.anyone
        messages = [self.message, *(item.message for item in items if item.message is not None)]
        self.executor.count(sent=sum(len(each.data) for each in messages if isinstance(each.data, bytes)))

    def _free(self, call: _Errand) -> None:
        if call.anyone:
            with self.crew.changed:
                call.member.busy = False
                self.crew.changed.notify_all()

    # receiving ---------------------------------------------------------------------------------------------------

    def _receive(self) -> None:
        """Wait until something has come, and take it."""
        with self.crew.lock:
            arriving = {member.hello: member for member in self.crew.members if not member.there}
        others = not self.flight and bool(self.crew.there)  # all that there are work for others
        if others:
            with self.crew.changed:
                self.crew.changed.wait(0.05)
        self._be_patient()
        waiting = [*self.flight, *arriving]
        if not waiting:
            return
        ready, rest = self.ray.wait(waiting, num_returns=1, timeout=0 if others else _WAIT)
        if ready and rest:
            ready += self.ray.wait(rest, num_returns=len(rest), timeout=0)[0]
        for reference in ready:
            if reference in arriving:
                self.crew.greet(arriving[reference])
            elif reference in self.flight:  # else it was lost with others of its worker
                self._take(reference)

    def _be_patient(self) -> None:
        """Say why nothing happens, once."""
        if not self.crew.there and monotonic() > self.begun + _PATIENCE:
            self.begun = math.inf
            cores, _ = self.crew.share
            self.executor.say(f"waiting for workers: does the cluster have {cores} free cores on a machine?")

    def _take(self, reference: Any) -> None:
        call = self.flight[reference]
        try:
            data = self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            raise WorkerError(f"{call.member} failed: {first_line(error)}") from None
        except self.ray.exceptions.RayError as error:
            self.crew.lose(call.member, error)
            self._lost(call.member, error)
            return
        del self.flight[reference]
        self.executor.count(received=len(data))
        self._free(call)
        for place, outcome in zip(call.places, pickle.loads(data), strict=True):
            self._settle(place, outcome)

    def _settle(self, place: int, outcome: Outcome) -> None:
        for warning in outcome.warnings:
            warnings.warn_explicit(*warning, registry=self.executor.warned.setdefault(warning[2], {}))
        if outcome.kind == "done":
            self.results[place] = outcome.value
            if self.told is not None:
                self.told(1)
        elif outcome.kind == "failed":
            self.errors[place] = outcome.value
        else:
            if outcome.kind == "elsewhere":
                self.astray[place] += 1
                if self.astray[place] > _TRIES:
                    raise WorkerError(f"part {place + 1} of {len(self.shards)} cannot be sent: {outcome.value}")
                self._send_files(outcome.value)
            (self.again if _held(self.shards[place]) else self.free).append(place)

    def _send_files(self, why: str) -> None:
        """A mapped file is not where a worker is: from now on its numbers are sent."""
        with self.crew.lock:
            if self.crew.packer.files:
                self.crew.packer.files = False
                self.executor.say(f"{why}; the numbers of mapped files are sent to workers")
            if self.maps_files:
                self._pack()

    def _lost(self, member: Member, error: Exception) -> None:
        """Items whose worker is lost are done again, each by itself; one that ends every worker is an error."""
        calls = [reference for reference, call in self.flight.items() if call.member is member]
        places = [place for reference in calls for place in self.flight.pop(reference).places]
        for place in places:
            self.lost[place] += len(places) == 1  # of several it may be another one's fault
            if self.lost[place] >= _TRIES:
                what, why = f"part {place + 1} of {len(self.shards)}", first_line(error)
                raise WorkerError(
                    f"{what} ended its worker {_TRIES} times, the last by: {why}; is there enough memory? The logs of "
                    "the cluster may say more (ray logs)"
                )
            self.alone.append(place)


def _held(shard: Any) -> bool:
    return getattr(shard, "key", None) is not None
