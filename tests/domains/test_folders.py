"""A shared server reads no folders, so every setting that may name one is declared: no domain can forget it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import ValidationError

from shortlong.domains import SERVER_FOLDERS, DataSettings
from shortlong.domains.base import DomainSettings, Settings

KINDS = get_args(get_args(DataSettings)[0])
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def takes_text(annotation: Any) -> bool:
    if get_origin(annotation) is Literal:
        return False
    inside = get_args(annotation)
    return (
        any(map(takes_text, inside)) if inside else isinstance(annotation, type) and issubclass(annotation, str | Path)
    )


def texts_of(kind: type[Settings], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Dotted names of all settings that hold text, also of those inside other settings."""
    for name, field in kind.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Settings):
            yield from texts_of(field.annotation, (*above, name))
        elif takes_text(field.annotation):
            yield (*above, name)


def forgotten(kind: type[DomainSettings], folder: str) -> list[str]:
    """Settings that take the name of a folder and are not declared."""
    found = []
    for path in texts_of(kind):
        refused = set()
        for value in (folder, [folder]):
            given: Any = value
            for name in reversed(path):
                given = {name: given}
            try:
                kind.model_validate(given)
            except ValidationError as error:
                refused |= {value is folder for one in error.errors() if one["loc"][: len(path)] == path}
        if len(refused) < 2 and path not in {(name,) for name in kind.server_folders}:
            found.append(".".join(path))
    return found


@every_kind
def test_a_setting_that_takes_a_folder_is_declared(kind: type[DomainSettings], tmp_path: Path) -> None:
    assert forgotten(kind, str(tmp_path)) == []


class Forgetful(DomainSettings):
    domain: Literal["forgetful"] = "forgetful"
    measured: Path = Path()


class Nested(DomainSettings):
    class Side(Settings):
        files: tuple[str, ...] = ()

    domain: Literal["nested"] = "nested"
    train: Side = Side()


@pytest.mark.parametrize(("kind", "name"), [(Forgetful, "measured"), (Nested, "train.files")])
def test_a_forgotten_one_is_found(kind: type[DomainSettings], name: str, tmp_path: Path) -> None:
    assert forgotten(kind, str(tmp_path)) == [name]


@every_kind
def test_the_usual_value_of_a_declared_setting_names_no_folder(kind: type[DomainSettings], tmp_path: Path) -> None:
    for name, none in kind.server_folders.items():
        assert kind.model_fields[name].default == none == SERVER_FOLDERS[name]
        assert not kind().names_folders
        assert kind.model_validate({name: str(tmp_path)}).names_folders


def test_measured_cells_are_in_a_folder() -> None:
    assert "source" in SERVER_FOLDERS


def test_settings_without_folders_name_none() -> None:
    assert not Forgetful().names_folders
