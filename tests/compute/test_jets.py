"""Derivatives of formulas against finite differences, and plain arrays against jets."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nbest.compute import jets
from nbest.compute.jets import Jet, expand, minimum_zero

STEP = 1e-3  # of a five-point stencil: an error of about 1e-12
SIZE = 3


def difference(function, point):
    """[..., M] central differences of fourth order of an array-valued function."""
    columns = []
    for j in range(len(point)):
        e = np.zeros(len(point))
        e[j] = STEP
        near, far = function(point + e) - function(point - e), function(point + 2 * e) - function(point - 2 * e)
        columns.append((8 * near - far) / (12 * STEP))
    return np.stack(columns, axis=-1)


def check_expansion(formula, point, covariance):
    """Gradient = differences of the plain value, Hessian of the gradient, third derivative of tr(Q V)."""
    found = expand(formula, point, covariance)
    plain = np.asarray(formula(list(point)), np.float64)
    assert found.value == pytest.approx(float(plain), rel=1e-12, abs=1e-12), "value"
    for name, got, function in (
        ("gradient", found.gradient, lambda x: np.float64(formula(list(x)))),
        ("hessian", found.hessian, lambda x: expand(formula, x).gradient),
        ("third", found.third, lambda x: (expand(formula, x, covariance).hessian * covariance).sum()),
    ):
        expected = difference(function, point)
        size = max(1.0, np.abs(expected).max(initial=0.0), np.abs(found.value))
        assert np.abs(got - expected).max(initial=0.0) <= 1e-6 * size, f"{name}: {got}, expected {expected}"


# Formulas as trees; every function gets an argument within its domain whatever its branches are.
SAFE = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / (jets.sigmoid(b) + 0.5),
    "r/": lambda a, b: 2.0 / (a * a + 1.0) - b,
    "neg": lambda a, b: -a,
    "log": lambda a, b: jets.log(a * a + 0.5) + 0.25 * b,
    "exp": lambda a, b: jets.exp(0.5 * jets.minimum_zero(a - 5.0)) * b,
    "sigmoid": lambda a, b: jets.sigmoid(2.0 * a - b),
    "minimum_zero": lambda a, b: jets.minimum_zero(a) + b,
}


def evaluate(tree, variables):
    if isinstance(tree, int):
        return variables[tree]
    if isinstance(tree, float):
        return tree + 0.0 * variables[0]
    return SAFE[tree[0]](evaluate(tree[1], variables), evaluate(tree[2], variables))


trees = st.recursive(
    st.integers(0, SIZE - 1) | st.floats(-2, 2).map(lambda x: round(x, 2)),
    lambda inner: st.tuples(st.sampled_from(sorted(SAFE)), inner, inner),
    max_leaves=8,
)
points = st.lists(st.integers(-20, 20), min_size=SIZE, max_size=SIZE).map(lambda x: np.array(x) / 8 + 0.0123)


def covariance_of(seed, size=SIZE):
    root = np.random.default_rng(seed).normal(size=(size, size))
    return root @ root.T


def kinks_are_far(tree, point):
    """Whether no argument of minimum_zero is near its kink."""
    near = []

    def watched(x):
        value = x.c[0].flat[0] if isinstance(x, Jet) else x
        near.append(abs(float(value)) < 0.05)
        return minimum_zero(x)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jets, "minimum_zero", watched)
        value = evaluate(tree, list(point))
    return not any(near) and abs(float(value)) < 1e3


@settings(deadline=None, max_examples=150)
@given(trees, points, st.integers(0, 99))
def test_random_formulas(tree, point, seed):
    assume(kinks_are_far(tree, point))
    check_expansion(lambda x: evaluate(tree, x), point, covariance_of(seed))


@settings(deadline=None, max_examples=50)
@given(trees, st.integers(0, 99))
def test_plain_arrays_are_the_values_of_jets(tree, seed):
    rows = np.random.default_rng(seed).normal(size=(5, SIZE))
    found = evaluate(tree, list(rows.T))
    expected = [expand(lambda x: evaluate(tree, x), row).value for row in rows]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


FUNCTIONS = {
    "reciprocal": (jets.reciprocal, [-3.0, -0.4, 0.3, 7.0]),
    "log": (jets.log, [0.2, 1.0, 50.0]),
    "exp": (jets.exp, [-4.0, 0.0, 3.0]),
    "sigmoid": (jets.sigmoid, [-30.0, -2.0, 0.0, 0.5, 9.0]),
    "minimum_zero": (jets.minimum_zero, [-2.0, -0.1, 0.1, 3.0]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("other", ["plain", "jet"])
def test_functions(name, other):
    """Each function alone, of one variable and of a product of two."""
    function, places = FUNCTIONS[name]
    for place in places:
        point = np.array([place, 1.5, -0.7])
        inner = (lambda x: x[0]) if other == "plain" else (lambda x: x[0] * x[1] / 1.5)
        check_expansion(lambda x, inner=inner: function(inner(x)), point, covariance_of(3))


def test_constants_on_either_side():
    def formula(x):
        return 3.0 - (2.0 + x[0]) * 4.0 / (x[1] + 10.0) + 1.0 / (5.0 + x[2]) - np.float64(2.0) * x[0] + (-x[1]) * 2

    check_expansion(formula, np.array([0.3, -2.0, 1.0]), covariance_of(1))


def test_the_sigmoid_does_not_overflow():
    with np.errstate(all="raise", under="ignore"):
        assert jets.sigmoid(np.array([-1e4, 0.0, 1e4])).tolist() == [0.0, 0.5, 1.0]
        for place in (-1e4, 1e4):
            found = expand(lambda x: jets.sigmoid(x[0]), np.array([place]), np.ones((1, 1)))
            assert not found.gradient.any()
            assert not found.third.any()


def test_at_the_kink_the_right_branch_is_taken():
    found = expand(lambda x: jets.minimum_zero(x[0]), np.array([0.0]), np.ones((1, 1)))
    assert (found.value, found.gradient[0], found.hessian[0, 0], found.third[0]) == (0, 0, 0, 0)


def test_a_constant_formula():
    found = expand(lambda x: 2.5, np.zeros(2), np.eye(2))
    assert found.value == 2.5
    assert not found.gradient.any()
    assert not found.hessian.any()
    assert not found.third.any()


def test_a_known_polynomial():
    """m = x^2 y: gradient (2xy, x^2), Hessian ((2y, 2x), (2x, 0)); third: d_x tr(QV) = 4 V_xy, d_y tr(QV) = 2 V_xx."""
    covariance = np.array([[2.0, 0.5], [0.5, 3.0]])
    found = expand(lambda x: x[0] * x[0] * x[1], np.array([3.0, 5.0]), covariance)
    assert found.value == 45
    np.testing.assert_allclose(found.gradient, [30, 9], atol=1e-12)
    np.testing.assert_allclose(found.hessian, [[10, 6], [6, 0]], atol=1e-12)
    np.testing.assert_allclose(found.third, [4 * 0.5, 2 * 2.0], atol=1e-12)


def lacks_a_product(self, other):
    good = GOOD_PRODUCT(self, other)
    if isinstance(other, Jet):
        good.c[5] -= self.c[2] * other.c[3]
    return good


def lacks_a_cross_term(self, derivatives):
    good = GOOD_THROUGH(self, derivatives)
    good.c[4] -= derivatives[2] * self.c[1] * self.c[3]
    return good


def lacks_third_derivatives(self, derivatives):
    return GOOD_THROUGH(self, (*derivatives[:3], 0.0))


def wrong_sign(self, other):
    return self + other if isinstance(other, Jet) else GOOD_DIFFERENCE(self, other)


GOOD_PRODUCT, GOOD_THROUGH, GOOD_DIFFERENCE = Jet.__mul__, Jet.through, Jet.__sub__

BROKEN = [
    ("__mul__", lacks_a_product, "third"),
    ("through", lacks_a_cross_term, "hessian"),
    ("through", lacks_third_derivatives, "third"),
    ("__sub__", wrong_sign, "value"),
]


@pytest.mark.parametrize(("operation", "broken", "reason"), BROKEN)
def test_broken_arithmetic_is_noticed(monkeypatch, operation, broken, reason):
    def formula(x):
        return jets.log(x[0] * x[1] * x[1] + 2.0) * (x[1] - x[2]) + jets.exp(x[2] * 0.3) * x[0]

    point, covariance = np.array([0.8, 1.3, -0.4]), covariance_of(2)
    check_expansion(formula, point, covariance)
    monkeypatch.setattr(Jet, operation, broken)
    with pytest.raises(AssertionError, match=reason):
        check_expansion(formula, point, covariance)
