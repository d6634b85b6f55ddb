"""An accelerator beside the processor and plain PyTorch, in one run: passes, training, kernels, pairs, streams.

    python -m benchmarks accelerator [small] [PART ...]

Parts: ceilings, risk, training, em, posteriors, mbr, streams. Ratios are of medians; errors are against the processor.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np

import nbest
import nbest.compute.executors
import nbest.compute.parallel
from nbest.base.types import Floats
from nbest.compute.segments import offsets_of
from nbest.corpus import NBest
from nbest.corpus.texts import Texts
from nbest.features.kernels.em import em_round, row_shards
from nbest.features.kernels.mixture import GaussianMixture
from nbest.features.kernels.posteriors import hypotheses, largest, on_device, rows_on
from nbest.metrics import BLEU
from nbest.objectives import Risk, value_and_gradient
from nbest.objectives.backends import NUMBA, computing_on
from nbest.objectives.cuda import CudaBackend
from nbest.objectives.forest_shard import shards_of

DEVICE = "cuda"
_METRIC = BLEU(tokenize="none")


def main(given: list[str] | None = None) -> None:
    """Print seconds and ratios."""
    given = sys.argv[2:] if given is None else given
    try:
        import torch

        has = torch.cuda.is_available()
    except ImportError:
        has = False
    if not has:
        print("there is no CUDA device here: nothing is measured")
        return
    threads = nbest.compute.parallel.thread_count(None)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}; {threads} threads")
    small = "small" in given
    wanted = [name for name in given if name != "small"] or list(_PARTS)
    for name in wanted:
        begin = time.perf_counter()
        _PARTS[name](small)
        print(f"  ({name}: {time.perf_counter() - begin:.0f} s)", flush=True)


def seconds(function: Callable[[], Any], times: int = 5) -> float:
    """The median of some calls after one that warms up; what the device does is waited for."""
    import torch

    def once() -> float:
        torch.cuda.synchronize()
        begin = time.perf_counter()
        function()
        torch.cuda.synchronize()
        return time.perf_counter() - begin

    once()
    return median(once() for _ in range(times))


def made_lists(segments: int, length: int, width: int = 14, seed: int = 1) -> NBest:
    """Lists with features of which some tell of the quality, and statistics of BLEU."""
    rng = np.random.default_rng(seed)
    count = segments * length
    quality = rng.normal(size=count).astype(np.float32)
    features = rng.normal(size=(count, width)).astype(np.float32)
    features += quality[:, None] * np.linspace(0.6, 0.0, width, dtype=np.float32)
    words = np.repeat(rng.integers(8, 40, segments), length)
    stats = np.empty((count, 10), np.float32)
    stats[:, 1] = words
    stats[:, 0] = np.maximum(words + np.rint(rng.normal(0, 1.5, count)), 4)
    rate = 1.0 / (1.0 + np.exp(-0.5 - 0.5 * quality))
    for n in range(4):
        stats[:, 6 + n] = stats[:, 0] - n
        stats[:, 2 + n] = rng.binomial(stats[:, 6 + n].astype(np.int64), rate ** (n + 1))
    names = tuple(f"f{d}" for d in range(width))
    ids = tuple(str(i) for i in range(segments))
    return NBest(offsets_of(np.full(segments, length)), features, names, ids=ids, stats=stats, metric=_METRIC)


# parts --------------------------------------------------------------------------------------------------------------


def _ceilings(small: bool) -> None:
    import torch

    size = 1 << 28
    a, b = torch.rand(size, device=DEVICE), torch.empty(size, device=DEVICE)
    rate = 2 * size * 4 / seconds(lambda: b.copy_(a)) / 1e12
    print(f"copy of {size * 4 / 1e9:.1f} GB: {rate:.2f} TB/s read and written")
    torch.backends.cuda.matmul.allow_tf32 = True
    m = torch.rand(8192, 8192, device=DEVICE)
    print(f"product of matrices in tf32: {2 * 8192**3 / seconds(lambda: m @ m) / 1e12:.0f} TFLOP/s")
    torch.backends.cuda.matmul.allow_tf32 = False


def _risk(small: bool) -> None:
    sizes = ((1000, 200),) if small else ((1000, 200), (10_000, 1_000))
    for segments, length in sizes:
        lists = made_lists(segments, length)
        stats, metric = lists.need_stats()
        scale = np.ones(len(lists.feature_names))
        weights = np.random.default_rng(0).normal(0, 0.3, len(scale))
        found = {}
        for order in (2, 1):
            for name, backend in (("processor", NUMBA), ("device", CudaBackend(DEVICE))):
                risk = Risk(metric, order=order, backend=backend)
                shards = shards_of(lists, scale, stats, metric, backend.block(lists))
                value, slope = value_and_gradient(risk, weights, shards)
                found[name] = seconds(partial(value_and_gradient, risk, weights, shards)), value, slope
                if name == "device":
                    passes = _passes(risk, weights, shards)
            one, two = found["processor"], found["device"]
            plain = _plain_torch(lists, weights) if order == 1 else float("nan")
            amount = lists.hypotheses * (14 * 4 + 10 * 2 + 8) * 2
            print(
                f"risk, order {order}, {segments:,} x {length:,} x 14: device {1e3 * two[0]:.3f} ms with the host, "
                f"kernels {1e3 * passes:.3f} ms ({amount / passes / 1e12:.2f} TB/s); processor {1e3 * one[0]:.2f} ms "
                f"({one[0] / two[0]:.1f} times); plain torch {1e3 * plain:.2f} ms ({plain / passes:.1f} times); "
                f"value differs by {abs(two[1] / one[1] - 1):.1e}, gradient by "
                f"{np.abs(two[2] - one[2]).max() / np.abs(one[2]).max():.1e}", flush=True,
            )  # fmt: skip


def _passes(risk: Risk, weights: Floats, shards: Any, times: int = 5) -> float:
    """Seconds of the kernels of both passes over all shards, as the profiler sees them."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for _ in range(times):
            value_and_gradient(risk, weights, shards, nbest.compute.executors.Serial())
    own = [each for each in seen.key_averages() if each.key in ("posteriors", "feature_sum")]
    return sum(each.device_time_total for each in own) / times / 1e6


def _plain_torch(lists: NBest, weights: Floats) -> float:
    """What one would write: expected statistics and their gradient by tensors, without a kernel of one's own."""
    import torch

    stats, _ = lists.need_stats()
    count, length = len(lists), int(lists.offsets[1])
    x = torch.from_numpy(np.array(lists.features, np.float32)).to(DEVICE).reshape(count, length, -1)
    s = torch.from_numpy(np.array(stats, np.float32)).to(DEVICE).reshape(count, length, -1)
    w, linear = torch.from_numpy(weights.astype(np.float32)).to(DEVICE), torch.rand(s.shape[2], device=DEVICE)

    def once() -> None:
        p = torch.softmax(x @ w, 1)
        (p[:, :, None] * s).sum((0, 1)).cpu()
        credit = s @ linear
        share = p * (credit - (p * credit).sum(1, keepdim=True))
        torch.einsum("nk,nkd->d", share, x).cpu()

    return seconds(once, 3)


def _training(small: bool) -> None:
    sizes = ((1000, 200),) if small else ((1000, 200), (10_000, 1_000))
    for segments, length in sizes:
        lists, rest = made_lists(segments, length), made_lists(min(segments, 2000), min(length, 200), seed=2)
        for trainer, options in (
            (nbest.MinRisk, {"polish": False}),
            (nbest.SoftBLEU, {"iterations": 100}),
            (nbest.MaxLikelihood, {}),
        ):
            took, score = {}, {}
            for device in (DEVICE, None):
                for again in range(2):  # the first call compiles, and reads the kernels of the processor
                    if again and segments > 1000 and device is None:
                        continue
                    begin = time.perf_counter()
                    model = _fit(trainer(device=device, **options), lists)
                    took[device] = time.perf_counter() - begin
                score[device] = rest.score(model.predict(rest))
            print(
                f"{trainer.__name__}, {segments:,} x {length:,} x 14: device {took[DEVICE]:.2f} s, processor "
                f"{took[None]:.2f} s ({took[None] / took[DEVICE]:.1f} times); BLEU on other lists "
                f"{score[DEVICE]:.4f} and {score[None]:.4f}", flush=True,
            )  # fmt: skip


def _fit(trainer: Any, lists: NBest) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return trainer.fit(lists)


def _clustered(count: int, width: int, seed: int = 1) -> Floats:
    """Hypotheses in lists of 100 that lie near each other."""
    rng = np.random.default_rng(seed)
    lists = -(-count // 100)
    middles = rng.normal(size=(lists, 1, width)).astype(np.float32)
    return (middles + 0.4 * rng.normal(size=(lists, 100, width)).astype(np.float32)).reshape(-1, width)[:count]


def _em(small: bool) -> None:
    kernels, count, few = (1024, 200_000, 50_000) if small else (16_384, 17_500_000, 200_000)
    width, rng = 11, np.random.default_rng(3)
    x = _clustered(count, width)
    means = x[rng.choice(count, kernels, replace=False)].astype(np.float64)
    mixture = GaussianMixture(means, np.full((kernels, width), 0.15), np.full(kernels, -np.log(kernels)))
    with computing_on(DEVICE):
        shards = row_shards(x)
        took = seconds(lambda: em_round(mixture, shards, 0.2, 1e-3, rng), 3)
        part = row_shards(x[:few])
        ours, past = em_round(mixture, part, 0.2, 1e-3, np.random.default_rng(1))
    em_round(mixture, row_shards(x[:1000]), 0.2, 1e-3, rng)  # compiles
    begin = time.perf_counter()
    theirs, before = em_round(mixture, part, 0.2, 1e-3, np.random.default_rng(1))
    on_processor = (time.perf_counter() - begin) * count / few
    plain = _torch_em(mixture, x[:few]) * count / few
    print(
        f"EM, {kernels:,} kernels x {count:,} hypotheses x {width}: device {took:.2f} s; processor "
        f"{on_processor:.0f} s, plain torch {plain:.1f} s (both of {few:,} hypotheses, scaled): "
        f"{on_processor / took:.0f} and {plain / took:.1f} times; "
        f"log-likelihood differs by {abs(past.log_likelihood - before.log_likelihood):.1e}, "
        f"means by {np.abs(ours.means - theirs.means).max():.1e}", flush=True,
    )  # fmt: skip


def _torch_em(mixture: GaussianMixture, x: Floats, step: int = 16_384) -> float:
    """Seconds of a round by products of matrices."""
    import torch

    sharp = 0.5 / torch.from_numpy(mixture.variances).float().to(DEVICE)
    means = torch.from_numpy(mixture.means).float().to(DEVICE)
    constant = torch.from_numpy(mixture.constants()).float().to(DEVICE) - (sharp * means * means).sum(1)
    rows = torch.from_numpy(np.ascontiguousarray(x)).float().to(DEVICE)

    def once() -> None:
        total = torch.zeros(len(means), 1 + 2 * rows.shape[1], device=DEVICE)
        for low in range(0, len(rows), step):
            part = rows[low : low + step]
            z = part @ (2 * sharp * means).T - (part * part) @ sharp.T + constant
            q = torch.softmax(z, 1)
            total += torch.cat([q.sum(0)[:, None], q.T @ part, q.T @ (part * part)], 1)

    return seconds(once, 2)


def _posteriors(small: bool) -> None:
    kernels, count, few = (20_000, 100_000, 20_000) if small else (300_000, 4_194_304, 65_536)
    width, rng, goal = 14, np.random.default_rng(4), 122_500_000
    for kind in ("clustered", "random"):
        x = _clustered(count, width) if kind == "clustered" else rng.normal(size=(count, width)).astype(np.float32)
        means = x[rng.choice(count, kernels, replace=False)] + 0.01 * rng.normal(size=(kernels, width))
        mixture = GaussianMixture(
            means.astype(np.float64), np.full((1, width), 0.35**2), np.full(kernels, -np.log(kernels))
        )
        x = x.astype(np.float64)
        with computing_on(DEVICE):
            device = on_device(mixture, 8)
            shards = hypotheses(x, len(mixture))
            parts = [rows_on(device, shard) for shard in shards]
            took = seconds(lambda d=device, p=parts: [d.largest(each, 8, 1e-3, 20.0) for each in p], 2)
            whole = seconds(lambda m=mixture, s=shards: largest(m, s, 8, 1e-3), 1)
            ours = largest(mixture, x[:few], 8, 1e-3)
        largest(mixture, x[:100], 8, 1e-3)  # compiles
        some, spent = few // 8, []
        for hypotheses_ in (100, some):  # what is done once for all kernels is not scaled
            begin = time.perf_counter()
            theirs = largest(mixture, x[:hypotheses_], 8, 1e-3)
            spent.append(time.perf_counter() - begin)
        on_processor = (spent[1] - spent[0]) / (some - 100)
        plain = _torch_posteriors(mixture, x[:some]) / some
        kept = np.arange(8) < np.minimum(ours[2][:some], theirs[2])[:, None]
        gap = np.abs(np.where(kept, ours[1][:some] - theirs[1], 0.0)).max()
        same = (ours[0][:some] == theirs[0])[kept].mean()
        print(
            f"posteriors, top 8, {kind}, {kernels:,} kernels x {count:,} x {width}: device {took:.2f} s "
            f"({took * goal / count:.1f} s for {goal:,}), {whole:.2f} s with posteriors brought back; processor "
            f"{on_processor * goal:.0f} s, plain torch {plain * goal:.0f} s for as many (scaled): "
            f"{on_processor * count / took:.0f} and {plain * count / took:.1f} times; posteriors differ by {gap:.1e}, "
            f"{100 * same:.3f} % of kernels the same", flush=True,
        )  # fmt: skip


def _torch_posteriors(mixture: GaussianMixture, x: Floats, step: int = 2048) -> float:
    import torch

    means = torch.from_numpy(mixture.means).float().to(DEVICE)
    sharp = 0.5 / torch.from_numpy(mixture.variances[0]).float().to(DEVICE)
    constant = -(sharp * means * means).sum(1)
    rows = torch.from_numpy(x).float().to(DEVICE)

    def once() -> None:
        for low in range(0, len(rows), step):
            part = rows[low : low + step]
            z = part @ (2 * sharp * means).T + constant
            torch.logsumexp(z, 1)
            torch.topk(z, 8, 1)

    return seconds(once, 2)


def _mbr(small: bool) -> None:
    segments, length = (4, 200) if small else (20, 2000)
    rng = np.random.default_rng(5)
    texts = []
    for _ in range(segments):
        base = rng.integers(0, 5000, 25)
        for _ in range(length):
            own = base.copy()
            swaps = rng.integers(0, 25, 6)
            own[swaps] = rng.integers(0, 5000, 6)
            texts.append(" ".join(map(str, own[: rng.integers(20, 26)])))
    lists = NBest(
        offsets_of(np.full(segments, length)), rng.normal(size=(len(texts), 1)), ("f",),
        ids=tuple(map(str, range(segments))), texts=Texts.of(texts),
    )  # fmt: skip
    model = nbest.LogLinear({"f": 1.0})
    took, choice = {}, {}
    for device in (DEVICE, None):
        with computing_on(device):
            choose = partial(nbest.mbr, model, lists, gain="bleu", evidence=None)
            took[device], choice[device] = seconds(choose, 1), choose()
    print(
        f"MBR by BLEU, {segments} lists of {length:,}, all of them evidence: device {took[DEVICE]:.2f} s, processor "
        f"{took[None]:.2f} s ({took[None] / took[DEVICE]:.1f} times); "
        f"{(choice[DEVICE] == choice[None]).mean():.1%} of choices the same", flush=True,
    )  # fmt: skip


def _streams(small: bool) -> None:
    segments, length = (4096 * 2, 50) if small else (4096 * 6, 500)
    lists = made_lists(segments, length)
    stats, metric = lists.need_stats()
    scale, weights = np.ones(14), np.random.default_rng(0).normal(0, 0.3, 14)
    found = {}
    for name, memory in (("resident", None), ("streamed", 0)):
        shards, risk = shards_of(lists, scale, stats, metric), Risk(metric, backend=CudaBackend(DEVICE, memory))
        value, slope = value_and_gradient(risk, weights, shards)
        found[name] = seconds(lambda r=risk, s=shards: value_and_gradient(r, weights, s), 3), value, slope
    one, two = found["resident"], found["streamed"]
    sent = lists.hypotheses * (14 * 4 + 10 * 4) * 2
    print(
        f"risk, {segments:,} x {length} x 14 in {len(lists.shards())} shards: {1e3 * one[0]:.1f} ms where all stay on "
        f"the device, {1e3 * two[0]:.0f} ms where all are sent in both passes ({sent / two[0] / 1e9:.1f} GB/s); "
        f"the same bits: {one[1] == two[1] and (one[2] == two[2]).all()}", flush=True,
    )  # fmt: skip


_PARTS: dict[str, Callable[[bool], None]] = {
    "ceilings": _ceilings, "risk": _risk, "training": _training, "em": _em, "posteriors": _posteriors, "mbr": _mbr,
    "streams": _streams,
}  # fmt: skip
