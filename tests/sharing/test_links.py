"""Shared runs: for named people or everybody, ended by their owner only, and silent about why a link does not open."""

import json

import pytest

from shortlong.core.errors import UserError
from shortlong.sharing.links import EVERYBODY, FOLDER, GONE, addresses_in, end_share, open_share, share, shares_of
from shortlong.sharing.people import Person

ADA = Person("a" * 20, "Ada", "ada@example.org")
BOB = Person("b" * 20, "Bob", "bob@example.org")
EVE = Person("e" * 20, "Eve", "")  # her provider did not verify her address


def test_named_people_open_it_and_others_do_not(tmp_path, tiny):
    made = share(tmp_path, ADA, tiny, addresses_in("Bob@example.org"))
    assert open_share(tmp_path, made.token, BOB).folder(tmp_path) == tmp_path / "people" / ADA.key
    assert open_share(tmp_path, made.token, ADA).owner == ADA.key
    for token in (made.token, "x" * 22, "../people/x", "", made.token + "/"):
        with pytest.raises(UserError) as caught:
            open_share(tmp_path, token, EVE)
        assert str(caught.value) == GONE, "a stranger does not learn whether there is such a share"


def test_everybody_opens_what_is_for_everybody_until_its_owner_ends_it(tmp_path, tiny):
    made = share(tmp_path, ADA, tiny, [EVERYBODY])
    assert open_share(tmp_path, made.token, EVE).scenario == tiny.to_yaml()
    end_share(tmp_path, made.token, BOB)
    assert open_share(tmp_path, made.token, EVE), "only the owner ends it"
    end_share(tmp_path, made.token, ADA)
    with pytest.raises(UserError):
        open_share(tmp_path, made.token, ADA)
    assert shares_of(tmp_path, ADA) == []


def test_the_same_share_keeps_its_link_and_tokens_cannot_be_guessed(tmp_path, tiny):
    first = share(tmp_path, ADA, tiny, ["bob@example.org"])
    assert share(tmp_path, ADA, tiny, ["bob@example.org"]) == first
    assert share(tmp_path, ADA, tiny, [EVERYBODY]).token != first.token
    assert len({share(tmp_path, ADA, tiny.changed({"seeds": str(n)}), [EVERYBODY]).token for n in range(5)}) == 5
    assert len(first.token) == 22
    assert [s.owner for s in shares_of(tmp_path, BOB)] == []


def test_the_owner_is_not_among_those_a_run_is_shared_with(tmp_path, tiny):
    made = share(tmp_path, ADA, tiny, addresses_in("ada@example.org, bob@example.org"))
    assert made.people == ("bob@example.org",)
    with pytest.raises(UserError, match="other person"):
        share(tmp_path, ADA, tiny, addresses_in("Ada@example.org"))
    assert share(tmp_path, EVE, tiny, [EVERYBODY]).people == (EVERYBODY,)


@pytest.mark.parametrize(
    "text", ["", " , ", "ada", "ada@", "a@b c@d@e", "<script>@x", ",".join(f"a{n}@b.c" for n in range(51))]
)
def test_what_is_no_address_is_refused(text):
    with pytest.raises(UserError, match="address"):
        addresses_in(text)


def test_addresses_are_taken_as_people_write_them():
    assert addresses_in("Ada@Example.org; bob@example.org,\n<eve@example.org> ada@example.org") == (
        "ada@example.org", "bob@example.org", "eve@example.org",
    )  # fmt: skip


@pytest.mark.parametrize(
    "change", [{"owner": "../../x"}, {"owner": 3}, {"token": "y" * 22}, {"people": None}, {"more": 1}]
)
def test_a_file_that_is_not_ours_opens_nothing(tmp_path, tiny, change):
    made = share(tmp_path, ADA, tiny, [EVERYBODY])
    file = tmp_path / FOLDER / f"{made.token}.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(UserError):
        open_share(tmp_path, made.token, BOB)
    assert shares_of(tmp_path, ADA) == []
