"""Choosing settings by splits, against scikit-learn's own search and its checks of estimators."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

import surepick as sp
from surepick.errors import InvalidInputError
from surepick.integrations.sklearn import SureSearchCV


@pytest.mark.validation
def test_it_finds_what_a_full_search_finds_with_fewer_fits():
    X, y = load_wine(return_X_y=True)
    steps = Pipeline([("scale", StandardScaler()), ("model", KNeighborsClassifier())])
    grid = [
        {"model__n_neighbors": [5, 100]},
        {"scale": ["passthrough"]},
        {"model": [DecisionTreeClassifier(max_depth=1, random_state=0)]},
    ]
    cv = RepeatedStratifiedKFold(n_splits=5, n_repeats=20, random_state=0)
    search = SureSearchCV(steps, grid, cv=cv, random_state=0).fit(X, y)
    full = GridSearchCV(steps, grid, cv=cv).fit(X, y)
    means = full.cv_results_["mean_test_score"]
    assert search.decision_.how == "proven"
    assert search.best_index_ == full.best_index_ == 0
    assert search.n_fits_ < 0.7 * len(means) * 100
    assert sp.verify(search.decision_.answer.certificate())
    # The scores are those of the full search, on the splits that were looked at.
    for place, name in enumerate(search.decision_.table.options):
        row = search.decision_.table.scores[place]
        for split in np.flatnonzero(~np.isnan(row))[:3]:
            assert row[split] == full.cv_results_[f"split{split}_test_score"][place], name
    assert search.best_score_ == pytest.approx(means[search.best_index_], abs=0.02)
    np.testing.assert_array_equal(search.cv_results_["splits"] > 0, True)
    fitted = full.estimator.set_params(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(search.classes_, [0, 1, 2])
    assert search.score(X, y) == fitted.score(X, y)


def test_scores_without_bounds_and_what_they_rest_on():
    X, y = load_diabetes(return_X_y=True)
    search = SureSearchCV(Ridge(), {"alpha": [0.1, 100.0]}, random_state=0).fit(X, y)
    assert search.best_params_ == {"alpha": 0.1}
    assert search.decision_.how == "proven"
    assert "as likely to be above its mean as below" in search.decision_.answer.guarantee
    assert search.decision_.table.rewards is None
    errors = SureSearchCV(
        Ridge(), {"alpha": [0.1, 100.0]}, scoring="neg_mean_absolute_error", random_state=0
    )
    assert errors.fit(X, y).best_params_ == {"alpha": 0.1}
    assert not hasattr(search, "predict_proba")


def test_too_few_fits_are_said():
    X, y = load_breast_cancer(return_X_y=True)
    settings = {"max_depth": [4, 5]}
    search = SureSearchCV(DecisionTreeClassifier(), settings, max_fits=12, random_state=0)
    with pytest.warns(ConvergenceWarning, match="Not decided after .* fits, with 2 settings left"):
        search.fit(X, y)
    assert search.n_fits_ <= 12
    assert search.predict(X).shape == y.shape


def test_what_cannot_be_scored_is_refused():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(InvalidInputError, match="lie between"):
        SureSearchCV(Ridge(), {"alpha": [0.1, 1]}, bounds=(0.9, 1), random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="max_fits must be at least 4; got 3"):
        SureSearchCV(Ridge(), {"alpha": [0.1, 1]}, max_fits=3).fit(X, y)
    only = SureSearchCV(Ridge(), {"alpha": [0.1]}).fit(X, y)
    assert (only.best_params_, only.n_fits_) == ({"alpha": 0.1}, 0)
    with pytest.raises(InvalidInputError, match="requires y to be passed"):
        SureSearchCV(Ridge(), {"alpha": [0.1, 1]}).fit(X)


@pytest.mark.filterwarnings("ignore")  # the checks make some on purpose
@pytest.mark.parametrize(
    "search",
    [
        pytest.param(
            SureSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2, random_state=0),
            id="classifier",
            marks=pytest.mark.validation,
        ),
        pytest.param(
            SureSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=2, random_state=0), id="regressor"
        ),
    ],
)
def test_it_is_an_estimator_like_others(search):
    results = check_estimator(search, on_fail=None)
    failed = [one["check_name"] for one in results if one["status"] == "failed"]
    assert failed == []
    assert sum(one["status"] == "passed" for one in results) > 45


def test_splits_say_nothing_of_new_data():
    X, y = load_wine(return_X_y=True)
    tree = DecisionTreeClassifier(random_state=0)
    search = SureSearchCV(tree, {"max_depth": [1, 3]}, random_state=0).fit(X, y)
    said = str(search.decision_)
    assert "Items are splits of one data set: nothing is said of new data." in said
    assert "Shown on these 200 splits, of which" in said
    assert "On new items" not in said
    answer = search.decision_.answer
    assert answer.on_items["lead_on_new"] is None
    assert "nothing is said of other data" in str(answer.guarantee)
    assert sp.verify(answer.certificate(), replay=True).guarantee == "pac"


def test_weights_go_to_fits_and_scores():
    X, y = load_wine(return_X_y=True)
    weights = np.where(y == 2, 100.0, 0.01)
    tree, grid = DecisionTreeClassifier(random_state=0), {"max_depth": [1, 3]}
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    search = SureSearchCV(tree, grid, cv=cv, random_state=0).fit(X, y, sample_weight=weights)
    full = GridSearchCV(tree, grid, cv=cv).fit(X, y, sample_weight=weights)
    scores = search.decision_.table.scores
    for place in range(2):
        known = np.flatnonzero(~np.isnan(scores[place]))
        own = [full.cv_results_[f"split{split}_test_score"][place] for split in known]
        assert scores[place, known].tolist() == own
    other = clone(tree).set_params(**search.best_params_).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(search.predict(X), other.predict(X))
    steps = Pipeline([("model", tree)])
    piped = SureSearchCV(steps, {"model__max_depth": [1, 3]}, cv=cv, random_state=0)
    piped.fit(X, y, model__sample_weight=weights.tolist())
    assert piped.n_features_in_ == X.shape[1]

    def accuracy(fitted, X, y):
        return fitted.score(X, y)

    unweighted = SureSearchCV(tree, grid, scoring=accuracy, bounds=(0, 1), cv=cv, random_state=0)
    with pytest.warns(UserWarning, match="does not take sample_weight"):
        unweighted.fit(X, y, sample_weight=weights)


class Breaks(DecisionTreeClassifier):
    """A tree of which one fit ends badly."""

    fits, at, what = 0, 0, ValueError

    def fit(self, X, y):
        Breaks.fits += 1
        if Breaks.fits == Breaks.at:
            raise Breaks.what("in the middle")
        return super().fit(X, y)


def test_a_fit_that_ends_badly_costs_no_other_fit(tmp_path, monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    monkeypatch.setattr(Breaks, "fits", 0)
    how = {"random_state": 0, "cache": tmp_path / "fits.jsonl"}

    def search():
        return SureSearchCV(Breaks(random_state=0), {"max_depth": [1, 5]}, **how)

    monkeypatch.setattr(Breaks, "at", 10)
    monkeypatch.setattr(Breaks, "what", KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt) as stop:
        search().fit(X, y)
    assert stop.value.partial.evaluations == 9
    monkeypatch.setattr(Breaks, "at", 14)
    monkeypatch.setattr(Breaks, "what", ValueError)
    found = search().fit(X, y)
    assert found.decision_.earlier == 9
    assert [why for *_, why in found.decision_.failed] == ["ValueError: in the middle"]
    assert found.n_fits_ + 9 + 1 + 1 == Breaks.fits  # one that was cut off, and the last one
    fits = Breaks.fits
    assert search().fit(X, y).n_fits_ == 0
    assert Breaks.fits == fits + 1
    assert search().fit(X[:-1], y[:-1]).decision_.earlier == 0  # other data
