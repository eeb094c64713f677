"""Whom the methods would stop, where nobody knows yet how the new policies end."""

import numpy as np
import pandas as pd

from shortlong.analysis.headline import BASELINE, at_horizon
from shortlong.analysis.outlook import LEVEL, outlook, trusted_method
from shortlong.compute.results import Results
from shortlong.words.numbers import count, number, plural
from shortlong.words.policy_names import policy_name
from shortlong.words.scenario import title_of


def forecast(results: Results, limit: float, horizon: int) -> pd.DataFrame:
    """Per new policy: what the trusted method predicts, its interval, and who would stop it."""
    rows = at_horizon(results.values, horizon)
    trusted = trusted_method(results, horizon)
    stops = rows[(rows["predicted"] < limit) & (rows["method"] != BASELINE)]
    by_policy = stops.groupby("policy", observed=True)["method"].agg(lambda names: ", ".join(map(title_of, names)))
    bounds = outlook(results, horizons=[horizon], methods=[trusted] if trusted else None).drop_duplicates("policy")
    labels = bounds["policy"].astype(str)
    return pd.DataFrame(
        {
            "name": [policy_name(results.scenario, label) for label in labels],
            "policy": labels.to_numpy(),
            "predicted": bounds["predicted"].to_numpy(),
            "lower": bounds["lower"].replace(-np.inf, np.nan).to_numpy(),
            "upper": bounds["upper"].replace(np.inf, np.nan).to_numpy(),
            "reason": bounds["reason"].to_numpy(),
            "level": LEVEL,
            "kind": "together",
            "would be stopped by": [by_policy.get(label, "") for label in bounds["policy"]],
        }
    )


def forecast_sentence(results: Results, limit: float, horizon: int) -> str:
    """How many the trusted method would stop."""
    trusted = trusted_method(results, horizon)
    rows = at_horizon(results.values, horizon)
    policies = rows["policy"].nunique()
    if trusted is None:
        return f"Predicted below {number(limit)}: see the table. No method has a back-test yet, so none is preferred."
    below = int((rows.loc[rows["method"] == trusted, "predicted"] < limit).sum())
    return (
        f"**{title_of(trusted)}, which predicted historical policies best, puts {count(below, policies)} new "
        f"{plural(policies, 'policy').partition(' ')[2]} below {number(limit)}.**"
    )
