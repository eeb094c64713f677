"""Pages agree with each other, and no share goes without what it is out of."""

import re

import pytest

from shortlong.analysis.choice import every_seed
from shortlong.analysis.confusion import confusion
from shortlong.analysis.headline import at_horizon
from shortlong.analysis.policies import course_of
from shortlong.analysis.safety import opening_limit, rates_over_horizon, verdicts
from shortlong.compute import shipped
from shortlong.ui.page import PAGES
from tests.app.conftest import cards, open_page, texts


@pytest.mark.parametrize("domain", ["hiv", "kidney"])
def test_safety_policies_and_the_csv_tell_the_same_of_every_policy(domain):
    item = shipped.largest(domain)
    labels = item.labels["test"]
    arrays, values = item.summary(), item.values()
    history = arrays["train/returns"].mean(axis=1)
    limit = opening_limit(history, arrays["test/returns"].mean(axis=1)).value
    rates = rates_over_horizon(values, limit).set_index(["method", "horizon"])
    for horizon in item.scenario.horizons[::3]:
        here = at_horizon(values, horizon)
        courses = [course_of(label, labels, arrays["test/rewards"], here, {}) for label in labels]
        rows = every_seed(values, history, horizon)
        means = rows.groupby(["method", "policy"], observed=True)["predicted"].mean()
        for verdict in verdicts(here, limit, 5.0, 1.0):
            method = verdict.method
            said = [course.predicted[method] for course in courses]
            assert confusion(said, [course.true for course in courses], limit) == verdict.counts
            assert rates.loc[(method, horizon), "accuracy"] == pytest.approx(verdict.counts.accuracy)
            assert said == pytest.approx([means[method, label] for label in labels], rel=1e-5)


@pytest.mark.heavy
@pytest.mark.parametrize("preset", ["hiv-paper", "hiv-demo", "kidney-paper", "battery-demo"])
@pytest.mark.parametrize("file", [file for file, _, _ in PAGES])
def test_a_share_of_100_percent_says_of_how_many(home, file, preset):
    page = open_page(file, preset=preset)
    assert cards(page) == ""
    for paragraph in texts(page).split("\n"):
        if re.search(r"\b100 % (right|correct|of (pairs|policies|cells))", paragraph):
            assert re.search(r"\d of \d", paragraph), paragraph
    for metric in page.metric:
        if metric.value == "100 %":
            assert re.search(r"\d of \d", metric.delta), metric.label
