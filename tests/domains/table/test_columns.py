"""Which column is which, by name and by content."""

import pytest

from shortlong.core.errors import UserError
from shortlong.domains.table import Columns, guess_columns, parse_columns, read_any
from shortlong.domains.table.columns import split_names, title_and_unit
from tests.domains.table.tables import trial


def guess(header: str, *rows: str) -> Columns:
    return guess_columns(read_any("\n".join([header, *rows, ""]).encode()).frame)


def test_a_clinic() -> None:
    found = guess("arm,patient_id,week,bp,heart_rate,dose_mg,benefit", "A,1,0,120,60,5,2", "A,1,1,121,61,5,3")
    assert found == Columns(
        "arm", "patient_id", "week", states=("bp", "heart_rate"), actions=("dose_mg",), reward="benefit"
    )


def test_a_product_team() -> None:
    found = guess("variant,user,date,clicks", "A,u1,2024-01-01,3", "B,u2,2024-01-02,4")
    assert (found.policy, found.unit, found.time, found.reward) == ("variant", "user", "date", "clicks")


def test_a_mouse_study_with_one_number() -> None:
    found = guess("drug,mouse,day,tumour volume (mm3)", "A,m1,0,3", "A,m1,3,4")
    assert (found.policy, found.unit, found.step, found.reward) == ("drug", "mouse", "day", "tumour volume (mm3)")
    assert found.states == ()


def test_an_outcome_that_changes_from_row_to_row_is_a_reward() -> None:
    found = guess("group,id,visit,outcome,age", "A,1,0,3,40", "A,1,1,4,40", "A,2,0,1,50", "A,2,1,2,50")
    assert (found.reward, found.outcome, found.states) == ("outcome", "", ("age",))


def test_a_policy_is_found_by_its_contents() -> None:
    found = guess(
        "Zuteilung,id,week,reward", *(f"{name},{i},{w},1.5" for i, name in enumerate("AABB") for w in range(3))
    )
    assert found.policy == "Zuteilung"


def test_what_is_named_is_not_guessed() -> None:
    frame = read_any(trial().rename(columns={"policy": "protocol_name"})).frame
    found = parse_columns("policy=protocol_name,states=reward+state_level,actions=,reward=state_level", frame)
    assert (found.policy, found.states, found.actions) == ("protocol_name", ("reward", "state_level"), ())
    assert found.reward == "state_level"


@pytest.mark.parametrize("text", ["policy", "colour=arm", "=x"])
def test_a_wrong_mapping_gets_a_sentence(text: str) -> None:
    with pytest.raises(UserError, match="ROLE=COLUMN"):
        parse_columns(text, trial())


def test_names_may_have_commas() -> None:
    assert split_names("A, B, with C,D", {"A", "B, with C", "D"}) == ("A", "B, with C", "D")


def test_units_of_measurement() -> None:
    assert title_and_unit("Grain (t)") == ("Grain", "t")
    assert title_and_unit("dose [mg]") == ("dose", "mg")
    assert title_and_unit("level") == ("level", "")
