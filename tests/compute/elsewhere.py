"""An executor whose workers share nothing with us, as processes of another machine do."""

from __future__ import annotations

import pickle

import numpy as np

from nbest.compute.executors import Threads, using


def copied(thing):
    """What arrives at the other end of a pipe."""
    return pickle.loads(pickle.dumps(thing))


class Elsewhere:
    """Function, shard and result are pickled; a shard is sent once and kept by its key; done in any order.

    `loses` is the share of the shards that are lost before each pass, with all that they hold.
    """

    apart = True

    def __init__(self, workers=None, seed=1, loses=0.0):
        self.threads, self.workers, self.loses = workers, workers or 1, loses
        self.random = np.random.default_rng((seed, workers or 0))
        self.kept, self.passes, self.met, self.lost = {}, 0, 0, 0

    def map(self, function, shards, told=None):
        """The results, in order."""
        self.passes += 1
        results = [None] * len(shards)
        for place in self.random.permutation(len(shards)):
            with using(Threads(1)):
                results[place] = copied(copied(function)(self._held(shards[place])))
            if told is not None:
                told(1)
        return results

    def _held(self, shard):
        key = getattr(shard, "key", None)
        if key is None:
            return copied(shard)
        self.met += key in self.kept
        if key in self.kept and self.random.random() < self.loses:
            self.kept.pop(key, None)  # another thread may have lost it as well
            self.lost += 1
        return self.kept.get(key) or self.kept.setdefault(key, copied(shard))

    def close(self):
        """Forget the shards."""
        self.kept.clear()
