"""What is learnt from evaluations: Gaussian processes with one length scale for each tunable, and what they promise.

C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, MIT Press 2006: prediction by algorithm
2.1, the gradient of the marginal likelihood by equation 5.9, Matern kernel with nu = 3/2 by equation 4.17 (times have
cliffs: a smoother one believes too much). Length scales have a log-normal prior whose median grows with the square
root of their number (C. Hvarfner et al., Vanilla Bayesian Optimization Performs Great in High Dimensions, ICML 2024).

What to evaluate is scored by the expected improvement over the best (D. R. Jones et al., Efficient Global Optimization
of Expensive Black-Box Functions, 1998) times the probability that the configuration works (J. R. Gardner et al.,
Bayesian Optimization with Inequality Constraints, ICML 2014), which a second process learns from failures, by
regression on labels (Rasmussen and Williams, section 6.5).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtr

from tui_tuner.search.features import Array, Points

ROOT_3 = np.sqrt(3.0)
FIRST_ITERATIONS = 30
ITERATIONS = 8
"""Steps towards the best length scales: those learnt from one observation less are nearly as good."""
JITTER = 1e-8
PIECE = 1024
"""Points predicted at once: their covariances stay in the cache."""
NOISE = 1e-3
"""Median of the prior of the noise's share of the variance."""
NOISE_SPREAD = 2.0
NOISE_BOUNDS = (1e-6, 0.3)
MEDIAN_SCALE = 0.74
"""Median of the prior of a length scale where there is one tunable; values lie between 0 and 1."""
FURTHEST = 4.0
"""Length scales stay within so many natural logarithms of their median."""


FARTHEST = -6.0
"""Deviations below the best at which the asymptote takes over."""
LABEL_DEVIATION = 0.1
"""Added to a predicted label's standard deviation, so that no probability is quite 0 or 1."""


class ImprovementModel:
    """Learns which points are fast and which fail.

    Args:
        groups: for each column of the points the number of its length scale, from 0 on without a gap.
    """

    def __init__(self, groups: NDArray[np.intp]) -> None:
        self._times = GaussianProcess(groups)
        self._success = GaussianProcess(groups)

    def best(self, known: Points, times: Array, begun: Points, candidates: Points, count: int) -> list[int]:
        """Which candidates promise the largest improvement together with what is begun, the most promising first.

        Each is chosen as if those before it had been measured and were what is predicted of them (the Kriging believer,
        D. Ginsbourger et al., Kriging Is Well-Suited to Parallelize Optimization, 2010), failures taken into account.

        Args:
            known: what was evaluated, n points.
            times: logarithms of its times, shape (n,), nan for failures; at least one is a time.
            begun: k points that are being evaluated.
            candidates: m points.
            count: how many of them, at most m.
        """
        works, first = ~np.isnan(times), len(begun.coordinates)
        self._times.fit(known.coordinates[works], (times - known.expected)[works])
        success = self._log_success(known.coordinates, works, candidates.coordinates)
        prediction = self._times.predict(np.vstack([begun.coordinates, candidates.coordinates]))
        mean = prediction.mean[first:] + candidates.expected
        for place in range(first):
            prediction.believe(place)
        chosen: list[int] = []
        while True:
            deviation = prediction.deviation[first:]
            scores = log_expected_improvement(times[works].min(), mean, deviation) + success
            scores[chosen] = -np.inf
            chosen.append(int(np.argmax(scores)))
            if len(chosen) == count:
                return chosen
            prediction.believe(first + chosen[-1])

    def _log_success(self, known: Array, works: NDArray[np.bool_], points: Array) -> Array | float:
        """The logarithm of the probability that each point works."""
        if works.all():
            return 0.0
        self._success.fit(known, works.astype(np.float64))
        works_there = self._success.predict(points)
        logarithms: Array = log_ndtr((works_there.mean - 0.5) / np.hypot(works_there.deviation, LABEL_DEVIATION))
        return logarithms


def log_expected_improvement(best: float, mean: Array, deviation: Array) -> Array:
    """Of a normal distribution over the best; where the improvement is all but impossible by its asymptote."""
    z = (best - mean) / deviation
    log_density = -0.5 * z**2 - 0.5 * np.log(2 * np.pi)
    possible = np.maximum(z, FARTHEST)
    near = np.log(np.exp(-0.5 * possible**2) / np.sqrt(2 * np.pi) + possible * ndtr(possible))
    far = log_density - 2 * np.log(np.maximum(-z, 1))
    improvement: Array = np.log(deviation) + np.where(z > FARTHEST, near, far)
    return improvement


class GaussianProcess:
    """Learns a function of points with coordinates between 0 and 1.

    Args:
        groups: for each column of the points the number of its length scale, from 0 on without a gap.
    """

    def __init__(self, groups: NDArray[np.intp]) -> None:
        self._groups = groups
        self._one_hot = np.eye(int(groups.max()) + 1)[groups]
        self._median = np.log(MEDIAN_SCALE) + 0.5 * np.log(self._one_hot.shape[1])
        self._parameters = np.append(np.full(self._one_hot.shape[1], self._median), np.log(NOISE))
        self._iterations = FIRST_ITERATIONS

    def fit(self, points: Array, values: Array) -> None:
        """Learn from values, shape (n,), at points, shape (n, columns), beginning with the scales learnt before."""
        self._mean, self._spread = values.mean(), values.std() or 1.0
        self._points = points
        z = (values - self._mean) / self._spread
        squares = ((points[:, None, :] - points[None]) ** 2) @ self._one_hot
        bounds = [(self._median - FURTHEST, self._median + FURTHEST)] * squares.shape[2]
        bounds.append((np.log(NOISE_BOUNDS[0]), np.log(NOISE_BOUNDS[1])))
        options = {"maxiter": self._iterations}
        self._iterations = ITERATIONS
        arguments = (squares, z)
        found = minimize(
            self._loss, self._parameters, arguments, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        self._parameters = found.x
        self._inverse_scales = np.exp(-found.x[:-1])[self._groups]
        self._factor = np.linalg.cholesky(self._covariance(squares)[0])
        self._weights = cho_solve((self._factor, True), z)
        self._variance = float(z @ self._weights) / len(z) + JITTER

    def predict(self, points: Array) -> Prediction:
        """What the values are at points, shape (m, columns)."""
        explained, means = np.empty((len(self._points), len(points))), np.empty(len(points))
        for begin in range(0, len(points), PIECE):
            piece = slice(begin, begin + PIECE)
            kernel = self.kernel(points[piece], self._points)
            means[piece] = kernel @ self._weights
            explained[:, piece] = solve_triangular(self._factor, kernel.T, lower=True, check_finite=False)
        return Prediction(self, points, self._mean + self._spread * means, explained)

    def kernel(self, points: Array, others: Array) -> Array:
        """Correlations of the values at points with those at others, shape (points, others)."""
        distance = _matern_distance(self._squared_distances(points, others))
        correlations: Array = (1 + distance) * np.exp(-distance)
        return correlations

    @property
    def noise(self) -> float:
        """Variance of the noise, in units of the signal's."""
        return float(np.exp(self._parameters[-1])) + JITTER

    @property
    def deviation(self) -> float:
        """Standard deviation of the signal."""
        return float(self._spread * np.sqrt(self._variance))

    def _squared_distances(self, points: Array, others: Array) -> Array:
        one, other = points * self._inverse_scales, others * self._inverse_scales
        squares: Array = (one**2).sum(1)[:, None] + (other**2).sum(1) - 2 * one @ other.T
        return np.maximum(squares, 0, out=squares)

    def _covariance(self, squares: Array, parameters: Array | None = None) -> tuple[Array, Array]:
        """Of the observations, in units of the signal's variance, and its slope by the squared distances."""
        parameters = self._parameters if parameters is None else parameters
        distance = _matern_distance(squares @ np.exp(-2 * parameters[:-1]))
        decay = np.exp(-distance)
        kernel, slope = (1 + distance) * decay, -1.5 * decay
        kernel[np.diag_indices_from(kernel)] += np.exp(parameters[-1]) + JITTER
        return kernel, slope

    def _loss(self, parameters: Array, squares: Array, z: Array) -> tuple[float, Array]:
        """Minus the log of the posterior, up to a constant, and its gradient; the signal's variance is at its best."""
        covariance, slope = self._covariance(squares, parameters)
        factor = np.linalg.cholesky(covariance)
        inverse = cho_solve((factor, True), np.eye(len(z)))
        weights = inverse @ z
        variance = max(float(z @ weights) / len(z), JITTER)
        by_kernel = 0.5 * (inverse - np.outer(weights, weights) / variance)
        by_scale = -2 * np.exp(-2 * parameters[:-1]) * np.tensordot(by_kernel * slope, squares, 2)
        by_noise = np.trace(by_kernel) * np.exp(parameters[-1])
        scales, noise = parameters[:-1] - self._median, (parameters[-1] - np.log(NOISE)) / NOISE_SPREAD
        prior = 0.5 * float(scales @ scales) + 0.5 * float(noise**2)
        loss = 0.5 * len(z) * np.log(variance) + float(np.log(np.diag(factor)).sum()) + prior
        return loss, np.append(by_scale + scales, by_noise + noise / NOISE_SPREAD)


class Prediction:
    """What a process says of points.

    Attributes:
        mean: at each, shape (m,).
    """

    def __init__(self, process: GaussianProcess, points: Array, mean: Array, explained: Array) -> None:
        self._process = process
        self._points = points
        self._explained = explained
        self._unexplained: Array = 1 - (explained**2).sum(0)
        self.mean = mean

    @property
    def deviation(self) -> Array:
        """Standard deviation at each point, shape (m,)."""
        deviation: Array = self._process.deviation * np.sqrt(np.maximum(self._unexplained, 1e-10))
        return deviation

    def believe(self, place: int) -> None:
        """Go on as if one of the points had been observed to be what is predicted of it.

        The mean stays as it is everywhere; deviations near the point shrink. The covariances of an observation more
        are one row more of the factor (Rasmussen and Williams, section A.4), so that no other is computed again.
        """
        prior = self._process.kernel(self._points, self._points[place : place + 1])[:, 0]
        posterior = prior - self._explained[:, place] @ self._explained
        row = posterior / np.sqrt(max(posterior[place] + self._process.noise, JITTER))
        self._explained = np.vstack([self._explained, row])
        self._unexplained = self._unexplained - row**2


def _matern_distance(squares: Array) -> Array:
    distance: Array = ROOT_3 * np.sqrt(squares)
    return distance
