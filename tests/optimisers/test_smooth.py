"""Optimisers of smooth functions: where they end, what they say, and that they can be stopped and resumed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.base.errors import NbestError
from nbest.optimisers import OPTIMISERS, adaptive, lbfgs, rprop

NAMES = sorted(OPTIMISERS)


def bowl(seed, size=4, condition=10.0):
    """A convex quadratic with its lowest point, at which it is 1."""
    rng = np.random.default_rng(seed)
    root, _ = np.linalg.qr(rng.normal(size=(size, size)))
    matrix = root @ np.diag(np.geomspace(1.0, condition, size)) @ root.T
    lowest = rng.normal(size=size)

    def function(x):
        return 1.0 + 0.5 * float((x - lowest) @ matrix @ (x - lowest)), matrix @ (x - lowest)

    return function, lowest


def logistic(seed, size=3):
    """Penalised logistic loss, convex but not quadratic, far from 0."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(20, size)) + 0.5

    def function(x):
        margins = rows @ x
        loss = np.logaddexp(0.0, -margins).sum() + 0.05 * float(x @ x)
        return float(loss), -rows.T @ (1 / (1 + np.exp(margins))) + 0.1 * x

    return function


def rosenbrock(x):
    """A bent valley; lowest at (1, 1), where it is 0.5."""
    a, b = 1 - x[0], x[1] - x[0] ** 2
    return 0.5 + float(a * a + 10 * b * b), np.array([-2 * a - 40 * x[0] * b, 20 * b])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_convex_functions(name, seed):
    function, lowest = bowl(seed)
    found = OPTIMISERS[name](function, np.zeros(4), iterations=2000, tolerance=1e-9)
    assert found.status == "converged"
    assert found.value == pytest.approx(1.0, abs=1e-4)
    np.testing.assert_allclose(found.weights, lowest, atol=0.02)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [1, 2])
def test_optimisers_agree(name, seed):
    function = logistic(seed)
    best = lbfgs(function, np.zeros(3), tolerance=1e-12).value
    assert OPTIMISERS[name](function, np.ones(3), iterations=2000).value == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_a_bent_valley(name):
    found = OPTIMISERS[name](rosenbrock, np.array([-1.2, 1.0]), iterations=5000, tolerance=1e-10)
    assert found.value < {"adaptive": 0.55}.get(name, 0.5001)
    assert found.value == pytest.approx(rosenbrock(found.weights)[0], abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_result(name):
    function, _ = bowl(5)
    start = np.full(4, 3.0)
    kept = start.copy()
    found = OPTIMISERS[name](function, start, iterations=300)
    assert np.array_equal(start, kept)
    assert found.converged
    assert found.evaluations == len(found.history)
    assert found.history[0]["value"] == function(start)[0]
    assert min(entry["value"] for entry in found.history) == found.value == function(found.weights)[0]
    assert found.message
    assert str(len(found.history)) in found.message or name != "rprop"


@pytest.mark.parametrize("name", NAMES)
def test_limit(name):
    found = OPTIMISERS[name](rosenbrock, np.array([-1.2, 1.0]), iterations=3, tolerance=1e-12)
    assert found.status == "limit"
    assert not found.converged
    assert found.value <= rosenbrock(np.array([-1.2, 1.0]))[0]
    assert found.value == rosenbrock(found.weights)[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_start_without_slope(name):
    found = OPTIMISERS[name](lambda x: (3.0, np.zeros(2)), np.array([1.0, 2.0]))
    assert found.status == "converged"
    assert found.value == 3.0
    assert found.weights.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("name", NAMES)
def test_callback_sees_points_and_stops(name):
    function, _ = bowl(6)
    seen = []

    def callback(iteration, weights, value):
        seen.append((iteration, weights.copy(), value))
        return len(seen) == 4

    found = OPTIMISERS[name](function, np.zeros(4), callback=callback)
    assert len(seen) == 4
    assert found.status == "converged"
    assert [iteration for iteration, _, _ in seen] == sorted(iteration for iteration, _, _ in seen)
    for _, weights, value in seen:
        assert value == function(weights)[0]
    assert found.value <= min(value for _, _, value in seen)
    assert "caller" in found.message or name == "lbfgs"


def stopped(optimiser, function, start, after, **options):
    """The result of a run that its callback stops after some calls."""
    calls = []

    def callback(*_):
        calls.append(1)
        return len(calls) == after

    return optimiser(function, start, callback=callback, **options)


FUNCTIONS = {"bowl": lambda: bowl(7, 2)[0], "logistic": lambda: logistic(7, 2), "rosenbrock": lambda: rosenbrock}


@pytest.mark.parametrize("name", ["rprop", "adaptive"])
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("after", [1, 2, 7, 15, 40])
def test_stopped_and_resumed_runs_end_at_the_same_point(name, function, after):
    optimiser, function = OPTIMISERS[name], FUNCTIONS[function]()
    start = np.array([-1.2, 1.0])
    whole = optimiser(function, start, iterations=10_000)
    first = stopped(optimiser, function, start, after, iterations=10_000)
    if "caller" not in first.message:  # it was there before that many calls
        assert np.array_equal(first.weights, whole.weights)
        return
    rest = optimiser(function, first.weights, iterations=10_000, state=first.history[-1]["state"])
    assert np.array_equal(rest.weights, whole.weights)
    assert rest.value == whole.value
    assert rest.status == whole.status


@pytest.mark.parametrize("name", ["rprop", "adaptive"])
@pytest.mark.parametrize("limit", [1, 2, 5, 23])
def test_runs_in_pieces(name, limit):
    """A run cut by its limit of iterations, again and again, goes the same way."""
    optimiser, start = OPTIMISERS[name], np.array([-1.2, 1.0])
    if name == "adaptive" and limit == 1:
        pytest.skip("one evaluation moves nowhere")
    whole = optimiser(rosenbrock, start, iterations=10_000)
    found, values = None, []
    for _ in range(10_000):
        state = None if found is None else found.history[-1]["state"]
        point = start if found is None else found.weights
        found = optimiser(rosenbrock, point, iterations=limit, state=state)
        values += [entry["value"] for entry in found.history][
            1 if name == "adaptive" and state else 0 :
        ]  # it asks again
        if found.converged:
            break
    assert np.array_equal(found.weights, whole.weights)
    assert found.value == whole.value
    assert values == [entry["value"] for entry in whole.history]


def test_resuming_leaves_the_earlier_result_alone():
    first = stopped(rprop, rosenbrock, np.array([-1.2, 1.0]), 9)
    before = {key: np.array(value, copy=True) for key, value in first.history[-1]["state"].items()}
    rprop(rosenbrock, first.weights, state=first.history[-1]["state"])
    for key, value in before.items():
        assert np.array_equal(value, first.history[-1]["state"][key])


@pytest.mark.parametrize("after", [1, 3, 6])
def test_lbfgs_resumes_to_the_same_optimum(after):
    function, lowest = bowl(8)
    first = stopped(lbfgs, function, np.zeros(4), after)
    rest = lbfgs(function, first.weights)
    assert rest.value == pytest.approx(1.0, abs=1e-8)
    np.testing.assert_allclose(rest.weights, lowest, atol=1e-3)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["value", "gradient"])
def test_what_is_not_finite_is_an_error(name, bad, where):
    calls = []

    def function(x):
        calls.append(1)
        broken = len(calls) > 2
        value, slope = float(x @ x), 2 * x
        if broken and where == "value":
            value = bad
        elif broken:
            slope = np.array([0.0, bad])
        return value, slope

    with pytest.raises(NbestError, match="not finite"):
        OPTIMISERS[name](function, np.array([5.0, -3.0]))


# RProp against its rules in plain Python (spec/2: grow 1.2, shrink 0.5, [1e-6, 50], start 0.1) ---------------------


def plain_rprop(function, start, iterations):
    """All points visited."""
    weights, visited = [float(x) for x in start], []
    steps, last = [0.1] * len(weights), [0.0] * len(weights)
    for _ in range(iterations):
        visited.append(list(weights))
        _, gradient = function(np.array(weights))
        for d in range(len(weights)):
            g = float(gradient[d])
            if g * last[d] > 0:
                steps[d] = min(steps[d] * 1.2, 50.0)
            elif g * last[d] < 0:
                steps[d] = max(steps[d] * 0.5, 1e-6)
                g = 0.0  # a flipped gradient is treated as 0 once
            weights[d] -= steps[d] if g > 0 else -steps[d] if g < 0 else 0.0
            last[d] = g
    return visited


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 99), st.floats(-20, 20), st.sampled_from(["bowl", "logistic", "rosenbrock"]))
def test_rprop_follows_its_rules(seed, far, kind):
    function = {
        "bowl": lambda: bowl(seed, 2)[0],
        "logistic": lambda: logistic(seed, 2),
        "rosenbrock": lambda: rosenbrock,
    }
    function, start = function[kind](), np.array([far, 1.0])
    visited = []

    def callback(_, weights, value):
        visited.append(weights.tolist())
        return False

    found = rprop(function, start, iterations=60, tolerance=0.0, callback=callback)
    expected = plain_rprop(function, start, 60)
    np.testing.assert_allclose(visited, expected[: len(visited)], rtol=1e-12, atol=1e-12)
    assert len(visited) >= 59 or found.converged
    best = min(function(np.array(point))[0] for point in expected[: len(found.history)])
    assert found.value == pytest.approx(best, rel=1e-12)


def test_rprop_steps_stay_within_their_bounds():
    slope = rprop(lambda x: (-float(x.sum()), -np.ones(2)), np.zeros(2), iterations=100)
    assert slope.history[-1]["state"]["steps"].tolist() == [50.0, 50.0]
    kink = rprop(lambda x: (float(np.abs(x).sum()), np.sign(x)), np.array([1e-3, -1e-3]), iterations=500, tolerance=0.0)
    assert kink.history[-1]["state"]["steps"].min() >= 1e-6
    assert kink.converged


def test_rprop_ignores_the_scale_of_a_function():
    function, _ = bowl(9)
    one = rprop(function, np.zeros(4), iterations=50, tolerance=0.0)
    other = rprop(lambda x: tuple(1024 * y for y in function(x)), np.zeros(4), iterations=50, tolerance=0.0)
    assert np.array_equal(one.weights, other.weights)


# adaptive steps --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", FUNCTIONS)
def test_adaptive_never_lets_the_value_rise(function):
    function = FUNCTIONS[function]()
    taken = []
    found = adaptive(function, np.array([-1.2, 1.0]), iterations=3000, callback=lambda i, w, v: taken.append(v))
    assert all(after < before for before, after in zip(taken, taken[1:], strict=False))
    assert found.value <= min(taken)


def test_adaptive_lengthens_and_shortens_its_steps():
    def slope(x):
        return -float(x[0]), np.array([-1.0])

    places = []
    adaptive(slope, np.zeros(1), iterations=5, callback=lambda i, w, v: places.append(float(w[0])))
    np.testing.assert_allclose(np.diff([0.0, *places]), [0.1, 0.15, 0.225, 0.3375])
    wall = adaptive(lambda x: (float(abs(x[0])), np.sign(x)), np.array([0.01]), iterations=4, step=0.1)
    # 0.1 too far, 0.05 too far, 0.025 too far: three failures, and where it was
    assert wall.weights.tolist() == [0.01]
    assert wall.history[-1]["state"] == {"step": pytest.approx(0.0125)}


def test_rprop_goes_on_over_a_plateau():
    """At first the value changes by less than the tolerance several times running, while steps are still growing."""

    def function(w):
        cube = (w[0] / 5.0) ** 5
        return 1.0 - 0.5 * np.tanh(cube), np.array([-0.5 * (1.0 - np.tanh(cube) ** 2) * w[0] ** 4 / 5.0**4])

    found = rprop(function, np.array([0.01]), tolerance=1e-5)
    changes = -np.diff([each["value"] for each in found.history])
    assert (changes[:3] < 1e-5).all()
    assert found.value == pytest.approx(0.5, abs=1e-4)
