"""scikit-learn: choose among settings of an estimator, fitting only what decides.

What is proven is about the splits that ``cv`` makes of the data at hand: which setting has the
largest mean score over all of them. That is what ``GridSearchCV`` with the same splits works out by
fitting every setting on every split. Here splits are drawn at random, settings still in the race
are scored on the same ones, and fits that can no longer matter are not made. How scores on splits
that share rows depend on each other does no harm: splits are drawn, rows are not.

Nothing is proven about rows that are not there. All splits are of one data set, and another one
from the same source would have other means; no number of splits makes up for that.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np

from surepick.arrays.validate import whole
from surepick.calls.kept import AUTO
from surepick.calls.versions import digest_of
from surepick.errors import InvalidInputError, MissingExtraError
from surepick.integrations.evaluations import ScoreTable, decide

try:
    from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.metrics import check_scoring
    from sklearn.model_selection import (
        ParameterGrid,
        ShuffleSplit,
        StratifiedShuffleSplit,
        check_cv,
    )
    from sklearn.utils import _safe_indexing, get_tags, indexable
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.parallel import Parallel, delayed
    from sklearn.utils.validation import _num_samples, check_is_fitted, check_random_state
except ImportError:
    raise MissingExtraError(
        "surepick.integrations.sklearn needs scikit-learn: install surepick[sklearn]"
    ) from None

__all__ = ["SureSearchCV"]

#: random splits that scores are meant over, where nothing is said
SPLITS = 200
#: words that begin the names of scores between 0 and 1
_SHARES = ("accuracy", "balanced_accuracy", "top_k_accuracy", "average_precision", "f1", "jaccard")
_SHARES += ("precision", "recall", "roc_auc")


def _of_chosen(name: str) -> Any:
    """A method of the chosen estimator (before fitting: of the given one), if that has it."""

    def check(self: SureSearchCV) -> bool:
        getattr(getattr(self, "best_estimator_", self.estimator), name)
        return True

    def method(self: SureSearchCV, X: Any) -> Any:
        """Of the chosen estimator."""
        return getattr(self._best(), name)(X)

    method.__name__ = name
    return available_if(check)(method)


class SureSearchCV(MetaEstimatorMixin, BaseEstimator):
    """The setting with the best mean score over all splits, with few fits and a proof.

    Parameters
    ----------
    estimator
        What is fitted; pipelines are compared by a grid over their steps.
    param_grid
        Settings to choose from, as for ``GridSearchCV``.
    scoring
        As for ``GridSearchCV``: one score, more is better. By default the estimator's own.
    bounds
        Between which scores lie. ``"auto"``: 0 and 1 where the scoring is known to be such a
        share (accuracy, ROC AUC, …); else None: what two settings differ by on a split is taken to
        vary symmetrically around its mean.
    cv
        The splits: a splitter, a number of folds, or a list of (train, test). By default 200 random
        splits with a fifth of the rows held out, stratified for classifiers.
    delta, epsilon
        The setting is the best, or within epsilon of it, with probability at least 1 - delta.
    max_fits
        The most fits (beside the last one, on all rows). Where it is not decided by then, there is
        a ``ConvergenceWarning`` and the setting that looks best is used.
    n_jobs
        Fits at a time, as everywhere in scikit-learn.
    random_state
        For the random splits, and for drawing among splits.
    cache
        The file in which scores are kept as they come: by default one in the folder ``.surepick``
        beside the script (in a notebook: in the current folder); None: nothing is kept. A search
        that was cut off goes on there with the same data, settings and splits (give a
        ``random_state``).

    Attributes
    ----------
    best_estimator_, best_params_, best_index_, best_score_
        The setting that was chosen, fitted on all rows; its mean score on the splits that it met.
    decision_
        How sure that is: an :class:`surepick.integrations.evaluations.EvaluationDecision`.
    cv_results_
        Settings, their mean scores and on how many splits.
    n_fits_
        Fits that were made.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> search = SureSearchCV(tree, {"max_depth": [1, 3]}, random_state=0).fit(X, y)
    >>> search.best_params_, search.decision_.how, search.n_fits_ < 200
    ({'max_depth': 3}, 'proven', True)
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        scoring: Any = None,
        bounds: Any = "auto",
        cv: Any = None,
        delta: float = 0.05,
        epsilon: float = 0.0,
        max_fits: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        cache: Any = AUTO,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.scoring = scoring
        self.bounds = bounds
        self.cv = cv
        self.delta = delta
        self.epsilon = epsilon
        self.max_fits = max_fits
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.cache = cache

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, **params: Any) -> Self:
        """Choose a setting, and fit it on all rows.

        Parameters
        ----------
        X, y
            The rows, and what is to be learned.
        groups
            For the splitter.
        params
            For the estimator's ``fit``, as for ``GridSearchCV``: ``sample_weight``, or in a
            pipeline ``step__sample_weight``. What has a value for each row is split as rows are;
            ``sample_weight`` also goes to the scoring, where that takes it.
        """
        X, y, groups = indexable(X, y, groups)
        if y is None and get_tags(self.estimator).target_tags.required:
            raise InvalidInputError(
                f"y: {self.estimator!r:.80} requires y to be passed, but the target y is None"
            )
        scorer = check_scoring(self.estimator, scoring=self.scoring)
        if isinstance(scorer, Mapping) or not callable(scorer):
            raise InvalidInputError("scoring must be a single score: give its name or a function")
        weighs = params.get("sample_weight") is not None and _takes_weights(scorer)
        settings = list(ParameterGrid(self.param_grid))
        if self.max_fits is not None:  # all are compared on the first two splits
            whole(self.max_fits, "max_fits", least=2 * len(settings))
        random = check_random_state(self.random_state)
        splits = self._splits(X, y, groups, random)
        table = ScoreTable(
            [f"{number}: {setting}" for number, setting in enumerate(settings)],
            [f"split {number}" for number in range(len(splits))],
            rewards=self._bounds(),
        )
        option = {name: i for i, name in enumerate(table.options)}
        item = {name: i for i, name in enumerate(table.items)}

        def evaluate(cells: list[tuple[str, str]]) -> Iterable[Any]:
            parallel: Any = Parallel(n_jobs=self.n_jobs, return_as="generator")
            return parallel(
                delayed(_fit_and_score)(
                    *(self.estimator, settings[option[name]], scorer, X, y),
                    *(*splits[item[split]], params, weighs),
                )
                for name, split in cells
            )

        seed = int(random.randint(2**31 - 1))
        self.decision_ = decide(
            table,
            evaluate_batch=evaluate,
            delta=self.delta,
            epsilon=self.epsilon,
            max_evaluations=self.max_fits,
            seed=seed,
            splits=True,
            measure=digest_of([_is(self.estimator), self.scoring, X, y, groups, params, splits]),
            cache=self.cache,
        )
        if not self.decision_:
            warnings.warn(
                f"Not decided after {self.decision_.evaluations} fits, with "
                f"{len(self.decision_.left)} settings left: the best-looking one is used. More "
                "fits (max_fits) or a larger epsilon would decide it.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._keep(settings, option[self.decision_.option])
        self.scorer_ = scorer
        self.best_estimator_ = _fitted(self.estimator, self.best_params_, X, y, params)
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_
        return self

    def _keep(self, settings: list[dict[str, Any]], best: int) -> None:
        scores = self.decision_.table.scores
        met = (~np.isnan(scores)).sum(axis=1)
        self.cv_results_ = {
            "params": settings,
            "mean_test_score": np.nansum(scores, axis=1) / np.where(met, met, np.nan),
            "splits": met,
        }
        self.n_fits_ = self.decision_.evaluations
        self.best_index_ = best
        self.best_params_ = settings[best]
        self.best_score_ = float(self.cv_results_["mean_test_score"][best])

    def _splits(self, X: Any, y: Any, groups: Any, random: Any) -> list[tuple[Any, Any]]:
        classifier = is_classifier(self.estimator)
        if self.cv is None:
            kind = StratifiedShuffleSplit if classifier else ShuffleSplit
            splitter: Any = kind(SPLITS, test_size=0.2, random_state=random.randint(2**31 - 1))
        else:
            splitter = check_cv(self.cv, y, classifier=classifier)
        return list(splitter.split(X, y, groups))

    def _bounds(self) -> Any:
        if self.bounds != "auto":
            return self.bounds
        if self.scoring is None:
            return (0, 1) if is_classifier(self.estimator) else None
        return (0, 1) if str(self.scoring).startswith(_SHARES) else None

    # -- what the chosen estimator can do ----------------------------------------------------
    predict = _of_chosen("predict")
    predict_proba = _of_chosen("predict_proba")
    predict_log_proba = _of_chosen("predict_log_proba")
    decision_function = _of_chosen("decision_function")
    transform = _of_chosen("transform")

    def score(self, X: Any, y: Any = None) -> float:
        """The score of the chosen estimator on these rows."""
        return _scored(self.scorer_, self._best(), X, y, {})

    @property
    def classes_(self) -> Any:
        """Of the chosen estimator."""
        return self._best().classes_

    @property
    def n_features_in_(self) -> int:
        """Of the chosen estimator."""
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(f"{type(self).__name__} is not fitted, so it has no features yet")
        return self.best_estimator_.n_features_in_

    def _best(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def __sklearn_tags__(self) -> Any:
        """What the estimator inside is, and takes."""
        tags, inside = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type, tags.target_tags = inside.estimator_type, inside.target_tags
        tags.classifier_tags, tags.regressor_tags = inside.classifier_tags, inside.regressor_tags
        tags.input_tags.sparse = inside.input_tags.sparse
        tags.input_tags.pairwise = inside.input_tags.pairwise
        return tags


def _is(estimator: Any) -> Any:
    """What an estimator is, as data."""
    own = sorted(estimator.get_params(deep=True).items())
    return type(estimator), [(name, value) for name, value in own if not hasattr(value, "fit")]


def _takes_weights(scorer: Any) -> bool:
    """Whether a scoring weighs rows; a warning where it does not, as scikit-learn gives."""
    own = getattr(scorer, "_accept_sample_weight", None)
    takes = own() if callable(own) else "sample_weight" in inspect.signature(scorer).parameters
    if not takes:
        warnings.warn(
            f"scoring {scorer} does not take sample_weight: fits are weighted, and scores are not",
            UserWarning,
            stacklevel=3,
        )
    return bool(takes)


def _fitted(estimator: Any, setting: dict[str, Any], X: Any, y: Any, params: dict[str, Any]) -> Any:
    """A fresh estimator with this setting, fitted.

    A grid may have estimators, too, as steps of a pipeline: each fit gets its own.
    """
    fresh: Any = clone(estimator)
    fresh.set_params(**{name: clone(value, safe=False) for name, value in setting.items()})
    return fresh.fit(X, **params) if y is None else fresh.fit(X, y, **params)


def _scored(scorer: Any, fitted: Any, X: Any, y: Any, more: dict[str, Any]) -> float:
    return float(scorer(fitted, X, **more) if y is None else scorer(fitted, X, y, **more))


def _fit_and_score(
    estimator: Any,
    setting: dict[str, Any],
    scorer: Any,
    X: Any,
    y: Any,
    train: Any,
    test: Any,
    params: dict[str, Any],
    weighs: bool,
) -> Any:
    """The score of a setting on a split, or the error that it ends in."""

    def part(rows: Any) -> tuple[Any, Any]:
        return _safe_indexing(X, rows), None if y is None else _safe_indexing(y, rows)

    def of_rows(value: Any, rows: Any) -> Any:
        each = not isinstance(value, str) and hasattr(value, "__len__")
        return _safe_indexing(value, rows) if each and _num_samples(value) == n else value

    n = _num_samples(X)
    own = {name: of_rows(value, train) for name, value in params.items()}
    more = {"sample_weight": of_rows(params["sample_weight"], test)} if weighs else {}
    try:
        return _scored(scorer, _fitted(estimator, setting, *part(train), own), *part(test), more)
    except Exception as error:
        return error
