"""The Broadbalk wheat table with families of plots, for back-tests that leave out a whole family.

Plots that got the same kinds of fertiliser most of the time, whatever the amounts, are a family. The table is that of the R package
agridat (broadbalk.wheat) with the columns policy, unit, step, action_… and reward_….

    python -m benchmarks.wheat TABLE.csv families.csv
    python -m shortlong data add families.csv --name wheat
    python -m shortlong run wheat
    python -m shortlong backtest wheat --leave family
    python -m benchmarks.kept_promises --leave family wheat
"""

import argparse

import pandas as pd


def with_families(table: pd.DataFrame) -> pd.DataFrame:
    """A column ``family``: the kinds of fertiliser that the plot got in more than half of the years."""
    kinds = [name for name in table.columns if name.startswith("action_")]
    usual = (table[kinds] > 0).groupby(table["policy"]).mean() > 0.5
    names = {
        str(plot): "+".join(k.removeprefix("action_") for k in kinds if row[k]) or "none"
        for plot, row in usual.iterrows()
    }
    return table.assign(family=table["policy"].map(names))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", help="file to read")
    parser.add_argument("target", help="file to write")
    options = parser.parse_args()
    table = with_families(pd.read_csv(options.table))
    table.to_csv(options.target, index=False)
    print(table.groupby("family")["policy"].unique().map(", ".join).to_string())


if __name__ == "__main__":
    main()
