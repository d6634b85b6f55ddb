"""The workers of `nbest.Ray`: how many there are, who of them is there, and who holds which shard.

A worker that was lost is replaced by a new one wherever the cluster has room; one that finds no room waits until a
machine joins. What a lost one held is sent to others.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from nbest.base.errors import CapabilityError, WorkerError
from nbest.compute.messages import Packed, Packer
from nbest.compute.ray_worker import Item, Worker, versions

_CORES = 4  # of a worker at most, where nothing is said: more share one interpreter lock
_LOOK = 2.0  # seconds between two looks at the machines of the cluster
_STARTS = 3  # workers in a row that may die before they have begun


@dataclass(eq=False)
class Member:
    """A worker, as this side knows it."""

    actor: Any
    hello: Any  # answered when it is there
    there: bool = False
    host: str = ""
    process: int = 0
    holds: dict[str, int] = field(default_factory=dict)  # sizes of shards by their keys
    forget: list[str] = field(default_factory=list)  # keys that it need not hold on to
    busy: bool = False  # with an item that is nobody's

    @property
    def load(self) -> int:
        """Bytes of what it holds."""
        return sum(self.holds.values())

    def __str__(self) -> str:
        return f"worker {self.process} on {self.host}" if self.process else "a worker that was about to begin"


class Crew:
    """All members, under one lock: `with crew.lock`. `changed` is told when one of them is free, there or lost."""

    def __init__(self, ray: Any, wanted: int | None, cores: int | None, say: Callable[[str], None]) -> None:
        self.ray, self.wanted, self.cores, self.say = ray, wanted, cores, say
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.packer = Packer(ray.put)
        self.members: list[Member] = []
        self.lost_count = 0
        self.closed = False
        self._homes: dict[Any, Member] = {}  # of arrays that several shards share
        self._places: dict[str, Member] = {}  # of shards
        self._shared: dict[str, list[Any]] = {}  # arrays that a shard shares
        self._gone: deque[str] = deque()  # keys of shards that nobody has any more; filled at any moment
        self._known: set[str] = set()
        self._failed, self._looked = 0, -math.inf
        self._kind = ray.remote(Worker)
        self.size = 0
        self.look()

    # who there is ------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Look at the machines of the cluster, now and then: as many workers as they are for."""
        if monotonic() < self._looked + _LOOK:
            return
        self._looked = monotonic()
        cpus = [node["Resources"].get("CPU", 0.0) for node in self.ray.nodes() if node["Alive"]]
        cpus = [each for each in cpus if each > 0]
        if not cpus:  # a cluster that can grow does so when somebody asks
            self.size, self.share = self.wanted or 1, (self.cores or 1, float(self.cores or 1))
        elif self.wanted is None:
            cores = self.cores or max(1, min(_CORES, int(max(cpus))))
            self.size, self.share = max(1, sum(int(each // cores) for each in cpus)), (cores, float(cores))
        else:
            self.size, self.share = self.wanted, shares(cpus, self.wanted, self.cores)
        with self.lock:
            if self.closed:
                return
            waiting = [member for member in self.members if not member.there]
            for member in waiting[: max(0, len(self.members) - self.size)]:
                self._end(member)
            self._fill()

    def _fill(self) -> None:
        cores, cpus = self.share
        how = {"num_cpus": cpus, "max_concurrency": max(2, cores), "max_restarts": 0, "scheduling_strategy": "SPREAD"}
        while len(self.members) < self.size:
            actor = self._kind.options(**how).remote(cores)
            self.members.append(Member(actor, actor.hello.remote()))

    def greet(self, member: Member) -> None:
        """A worker has answered: it is there, or it is lost."""
        with self.lock:
            if member.there or member not in self.members:
                return
            try:
                about = self.ray.get(member.hello)
            except self.ray.exceptions.RayError as error:
                self._failed += 1
                if self._failed >= _STARTS:
                    raise WorkerError(
                        f"{_STARTS} workers ended before they began; the last: {first_line(error)}"
                    ) from None
                self.lose(member, error)
                return
            self._failed = 0
            member.host, member.process = about["host"], about["process"]
            _compare(member, about["versions"], versions())
            member.there = True
            self.changed.notify_all()

    def lose(self, member: Member, error: Exception) -> None:
        """A worker is not there any more; another one takes its place."""
        with self.lock:
            if member not in self.members:
                return
            self.say(f"{member} is lost ({first_line(error)}); what it had goes to others")
            self.lost_count += 1
            self._end(member)
            self._looked = -math.inf  # its machine may be gone, too
            self._fill()
            self.changed.notify_all()

    def _end(self, member: Member) -> None:
        self.members.remove(member)
        for key in member.holds:
            self._places.pop(key, None)
        self._homes = {name: home for name, home in self._homes.items() if home is not member}
        with suppress(Exception):  # it may be gone, and so may the cluster
            self.ray.kill(member.actor)

    def close(self) -> None:
        """End all of them, for good."""
        self.closed = True
        with self.lock:
            for member in list(self.members):
                self._end(member)

    def abandon(self) -> None:
        """The cluster is out of reach: ask nothing of it any more, or Ray would look for another one."""
        self.closed = True
        with self.lock:
            self.members.clear()

    @property
    def there(self) -> list[Member]:
        """Those that can be given work."""
        return [member for member in self.members if member.there]

    # who holds what ----------------------------------------------------------------------------------------------

    def member_of(self, shard: Any) -> tuple[Member, Item]:
        """Who works on a shard that is held, and what is to be sent: the shard itself where it is new there."""
        member = self._places.get(shard.key)
        if member is None or self._too_much(member, member.holds[shard.key]):
            return self.given(shard)
        return member, Item(shard.key, None)

    def given(self, shard: Any, to: Member | None = None) -> tuple[Member, Item]:
        """A shard that is sent to this worker, or to the one where it is best."""
        key, packed = shard.key, self.packer.pack(shard, shard.key)
        before = self._places.get(key)
        if before is not None:
            self._leave(key, before)
        goal = to or self._goal(packed)
        self._places[key], goal.holds[key], self._shared[key] = goal, packed.size, packed.shared
        self._homes.update(dict.fromkeys(packed.shared, goal))
        if key in goal.forget:
            goal.forget.remove(key)
        if key not in self._known:
            self._known.add(key)
            weakref.finalize(shard, self._gone.append, key).atexit = False
        return goal, Item(key, packed.message)

    def again(self, shard: Any) -> tuple[Member, Item]:
        """A shard that its worker does not have after all."""
        return self.given(shard, self._places.get(shard.key))

    def _goal(self, packed: Packed) -> Member:
        """Where something new goes: to the worker that has its arrays already, else to the one that holds least."""
        least = min(self.there, key=lambda member: member.load)
        for name in packed.shared:
            home = self._homes.get(name)
            if home is not None and home.there and home.load <= least.load + packed.size:
                return home
        return least

    def _too_much(self, member: Member, size: int) -> bool:
        """Whether something of this size would better be with another worker."""
        return size > 0 and member.load >= min(each.load for each in self.there) + 2 * size

    def _leave(self, key: str, member: Member) -> None:
        member.holds.pop(key, None)
        member.forget.append(key)
        self._homes = {name: home for name, home in self._homes.items() if name not in self._shared.get(key, ())}

    def tidy(self) -> None:
        """Let go of shards that nobody has any more."""
        while self._gone:
            key = self._gone.popleft()
            self._known.discard(key)
            member = self._places.pop(key, None)
            if member is not None:
                self._leave(key, member)
            self._shared.pop(key, None)
            self.packer.forget(key)


def _compare(member: Member, there: dict[str, str], here: dict[str, str]) -> None:
    for name, own in here.items():
        if there.get(name) != own:
            raise CapabilityError(
                f"{member} has {name} {there.get(name)}, this process {own}; install the same everywhere: results may "
                "depend on it"
            )


def shares(cpus: list[float], workers: int, cores: int | None) -> tuple[int, float]:
    """Threads of each of so many workers, and processors that are set aside for it, so that all of them find room."""
    if cores is not None:
        return cores, float(cores)
    for each in range(max(1, int(min(max(cpus), sum(cpus) / workers))), 1, -1):
        if sum(int(node // each) for node in cpus) >= workers:
            return each, float(each)
    if sum(int(node) for node in cpus) >= workers:
        return 1, 1.0
    return 1, math.floor(1000 * min(cpus) / math.ceil(workers / len(cpus))) / 1000


def first_line(error: Exception) -> str:
    """What an exception of Ray says first."""
    lines = [line.strip() for line in str(getattr(error, "cause", None) or error).splitlines() if line.strip()]
    heading = len(lines) > 1 and lines[0].endswith(":")
    return " ".join(lines[: 2 if heading else 1]) or type(error).__name__
