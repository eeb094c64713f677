"""Widgets that change the scenario, made from its own fields, so that a new domain needs no page of its own.

A widget shows the value of the session's scenario; a change is applied through ``Scenario.changed``, which validates it
again. What is refused gets a card, and the widget goes back to the last good value.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args, get_origin

import streamlit as st
from pydantic.fields import FieldInfo

from shortlong.domains import DOMAINS
from shortlong.domains.base import Settings
from shortlong.errors import UserError
from shortlong.methods import METHODS
from shortlong.presets import PRESETS, preset
from shortlong.scenario import Scenario
from shortlong.ui import state
from shortlong.ui.page import error_card
from shortlong.ui.theme import hatch
from shortlong.wording import action_titles, field_title, preset_title, title_of

SIDES = {"train": "Policies of the history", "test": "New policies"}
EDIT_ERROR = "edit_error"


def preset_and_domain() -> None:
    """The starting point; choosing one puts every value back to it."""
    scenario = state.current()
    domain = scenario.data.domain
    left, right = st.columns(2)
    with left:
        if len(DOMAINS) > 1:
            _show("edit-domain", domain)
            st.segmented_control(
                "Domain",
                list(DOMAINS),
                format_func=lambda name: DOMAINS[name].title,
                required=True,
                key="edit-domain",
                on_change=_choose_domain,
            )
        else:
            st.markdown(f"Domain  \n**{DOMAINS[domain].title}**")
    with right:
        names = _presets_of(domain)
        _show("edit-preset", scenario.preset if scenario.preset in names else None)
        st.segmented_control(
            "Start from",
            names,
            format_func=preset_title,
            key="edit-preset",
            on_change=_choose_preset,
            help="demo takes seconds, standard minutes; paper has the sizes of the paper and takes long.",
        )


def action_sets() -> None:
    """What the policies of each side may do; an action that the history never had is new."""
    scenario = state.current()
    for column, role in zip(st.columns(2), SIDES, strict=True):
        with column:
            if f"{role}_actions" in type(scenario.data).model_fields:
                _action_pills(scenario, role)
            else:
                for path, field, value in _fields(scenario.data):
                    if path.startswith(f"data.{role}.") and _is_choice(field):
                        _field_widget(path, field, value, label=f"{SIDES[role]}: {path.split('.')[-1]}")


def sizes_and_seeds() -> None:
    """All other values of the domain, then horizons, methods and seeds."""
    scenario = state.current()
    others = [f for f in _fields(scenario.data) if not (f[0].count(".") > 1 and _is_choice(f[1]))]
    others += [(name, Scenario.model_fields[name], getattr(scenario, name)) for name in ("horizons", "seeds")]
    for start in range(0, len(others), 3):
        for column, (path, field, value) in zip(st.columns(3), others[start : start + 3], strict=False):
            with column:
                _field_widget(path, field, value, label=field_title(path).capitalize())
    _show("edit-methods", list(scenario.methods))
    st.multiselect(
        "Methods",
        list(METHODS),
        format_func=title_of,
        key="edit-methods",
        on_change=_apply,
        args=("methods", "edit-methods", _joined),
    )


def refusal() -> None:
    """Why the last change was not taken."""
    if message := st.session_state.pop(EDIT_ERROR, None):
        error_card(message, title="The change was not taken")


def _action_pills(scenario: Scenario, role: str) -> None:
    name = f"{role}_actions"
    field = type(scenario.data).model_fields[name]
    titles = action_titles(scenario)
    known = titles if role == "train" else getattr(scenario.data, "train_actions", ())
    _show(f"edit-data.{name}", list(getattr(scenario.data, name)))
    with st.container(key=f"actions-{role}"):
        st.pills(
            f"{SIDES[role]}: what they may do",
            list(titles),
            selection_mode="multi",
            format_func=lambda action: titles[action] if action in known else f"{titles[action]} · new",
            key=f"edit-data.{name}",
            on_change=_apply,
            args=(f"data.{name}", f"edit-data.{name}", _joined),
            help=field.description,
        )
        hatch(f"actions-{role}", (i for i, action in enumerate(titles) if action not in known))


def _fields(settings: Settings, above: str = "data") -> list[tuple[str, FieldInfo, Any]]:
    """Dotted names, fields and values of all settings below, without the domain's name and the action sets."""
    found = []
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if isinstance(value, Settings):
            found += _fields(value, f"{above}.{name}")
        elif name not in ("domain", "train_actions", "test_actions"):
            found.append((f"{above}.{name}", field, value))
    return found


def _field_widget(path: str, field: FieldInfo, value: Any, label: str) -> None:
    key = f"edit-{path}"
    common: dict[str, Any] = {"key": key, "help": field.description, "on_change": _apply}
    _show(key, ", ".join(map(str, value)) if isinstance(value, tuple) else value)
    if _is_choice(field):
        st.selectbox(label, list(get_args(field.annotation)), args=(path, key, str), **common)
    elif isinstance(value, tuple | str):
        st.text_input(label, args=(path, key, str), **common)
    elif isinstance(value, bool):
        st.toggle(label, args=(path, key, lambda on: str(on).lower()), **common)
    else:
        kind = type(value)
        least, most = _limit(field, ("ge", "gt"), kind), _limit(field, ("le", "lt"), kind)
        st.number_input(label, least, most, step=1 if kind is int else 0.05, args=(path, key, repr), **common)


def _apply(path: str, key: str, to_text: Callable[[Any], str]) -> None:
    """Take a widget's value into the scenario."""
    try:
        state.choose(state.current().changed({path: to_text(st.session_state[key])}, source="the change"))
    except UserError as error:
        st.session_state[EDIT_ERROR] = str(error)


def _presets_of(domain: str) -> list[str]:
    return [name for name, content in PRESETS.items() if content["data"]["domain"] == domain]


def _choose_preset() -> None:
    if name := st.session_state["edit-preset"]:
        state.choose(preset(name))


def _choose_domain() -> None:
    state.choose(state.first_scenario(st.session_state["edit-domain"]))


def _show(key: str, value: Any) -> None:
    """The widget shows the scenario, whoever changed it last."""
    st.session_state[key] = value


def _joined(values: Sequence[str]) -> str:
    return ",".join(values)


def _is_choice(field: FieldInfo) -> bool:
    return get_origin(field.annotation) is Literal


def _limit(field: FieldInfo, bounds: tuple[str, str], kind: type) -> Any:
    return next((kind(getattr(m, b)) for m in field.metadata for b in bounds if hasattr(m, b)), None)
