"""Widgets that change the scenario, made from its own fields, so that a new domain needs no page of its own.

A widget shows the value of the session's scenario; a change is applied through ``Scenario.changed``, which validates it
again. What is refused gets a card, and the widget goes back to the last good value.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args, get_origin

import streamlit as st
from pydantic.fields import FieldInfo

from shortlong.core.errors import UserError
from shortlong.domains import DOMAINS, PRESET_DOMAINS
from shortlong.domains.base import AN_ACTION, ChoosesActions, Role, Settings
from shortlong.methods import METHODS
from shortlong.scenario import Scenario
from shortlong.scenario.presets import PRESETS, preset
from shortlong.ui import modes, state
from shortlong.ui.cards import error_card
from shortlong.ui.results import whole_seconds
from shortlong.ui.theme import hatch
from shortlong.words.glossary import explain_methods
from shortlong.words.scenario import action_titles, preset_label, title_of
from shortlong.words.settings import field_title, with_labels

SIDES: dict[Role, str] = {"train": "historical policies", "test": "new policies"}
EDIT_ERROR = "edit_error"
CHANGE = "the change"  # how a refusal calls its source


def preset_and_domain() -> None:
    """The starting point; choosing one puts every value back to it."""
    scenario = state.current()
    left, right = st.columns([1, 1.35], gap="medium")
    domain = scenario.data.domain
    if len(PRESET_DOMAINS) > 1 and domain in PRESET_DOMAINS:
        _show("edit-domain", domain)
        left.segmented_control(
            "Domain",
            PRESET_DOMAINS,
            format_func=lambda name: DOMAINS[name].title,
            required=True,
            key="edit-domain",
            on_change=_choose_domain,
        )
    else:
        left.markdown(f"Domain  \n**{DOMAINS[domain].title}**")
    names = _presets_of(domain)
    _show("edit-preset", scenario.preset if scenario.preset in names else None)
    right.segmented_control(
        scenario.domain.words.presets,
        names,
        format_func=lambda name: preset_label(name, whole_seconds(preset(name))),
        key="edit-preset",
        on_change=_choose_preset,
        help="In brackets: how long a run takes on this machine if nothing is computed yet. Choosing one resets all settings.",
    )


def action_sets() -> None:
    """The actions that each side may use; an action that no historical policy had is new."""
    scenario = state.current()
    for column, role in zip(st.columns(2), SIDES, strict=True):
        with column:
            if isinstance(scenario.data, ChoosesActions):
                _action_pills(scenario, scenario.data, role)
            else:
                fields = _fields(scenario.data)
                values = {path: value for path, _, value in fields}
                for path, field, value in fields:
                    if path.startswith(f"data.{role}.") and _is_action(field):
                        known = values.get(path.replace("data.test.", "data.train.", 1), ())
                        _field_widget(path, field, value, field_title(scenario, path), known)


def sizes_and_seeds() -> None:
    """All other settings of the domain, then observation periods, methods and seeds."""
    scenario = state.current()
    others = [f for f in _fields(scenario.data) if not (f[0].count(".") > 1 and _is_action(f[1]))]
    if not modes.folders_allowed():
        others = [f for f in others if f[0].removeprefix("data.") not in scenario.data.server_folders]
    others += [(name, Scenario.model_fields[name], getattr(scenario, name)) for name in ("horizons", "seeds")]
    for start in range(0, len(others), 3):
        for column, (path, field, value) in zip(st.columns(3), others[start : start + 3], strict=False):
            with column:
                _field_widget(path, field, value, label=field_title(scenario, path))
    _show("edit-methods", list(scenario.methods))
    st.multiselect(
        "Methods",
        list(METHODS),
        format_func=title_of,
        key="edit-methods",
        on_change=_apply,
        args=("methods", "edit-methods", _joined),
        help=explain_methods(scenario.methods),
    )


def refusal() -> None:
    """Why the last change was refused."""
    if message := st.session_state.pop(EDIT_ERROR, None):
        error_card(message, title="Nothing was changed")


def _action_pills(scenario: Scenario, settings: ChoosesActions, role: Role) -> None:
    name = f"{role}_actions"
    field = type(scenario.data).model_fields[name]
    titles = action_titles(scenario)
    known = tuple(titles) if role == "train" else settings.train_actions
    _show(f"edit-data.{name}", list(settings.train_actions if role == "train" else settings.test_actions))
    with st.container(key=f"actions-{role}"):
        st.pills(
            field.title or f"{SIDES[role].capitalize()}: available actions",
            list(titles),
            selection_mode="multi",
            format_func=lambda action: titles[action] if action in known else f"{titles[action]} · new",
            key=f"edit-data.{name}",
            on_change=_apply,
            args=(f"data.{name}", f"edit-data.{name}", _joined),
            help=_sentence(field.description),
        )
        hatch(f"actions-{role}", (i for i, action in enumerate(titles) if action not in known))


def _fields(settings: Settings, above: str = "data") -> list[tuple[str, FieldInfo, Any]]:
    """Dotted names, fields and values of all settings but the domain's name and the sets of actions."""
    found = []
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if isinstance(value, Settings):
            found += _fields(value, f"{above}.{name}")
        elif name not in ("domain", "train_actions", "test_actions"):
            found.append((f"{above}.{name}", field, value))
    return found


def _field_widget(path: str, field: FieldInfo, value: Any, label: str, known: Any = ()) -> None:
    """``known``: what the historical side may do; an empty choice there means everything."""
    key = f"edit-{path}"
    common: dict[str, Any] = {"key": key, "help": _sentence(field.description), "on_change": _apply}
    if options := _options(field, value):
        _show(key, list(value) or options)  # nothing chosen means that everything is allowed
        judged = path.startswith("data.test.") and field.json_schema_extra == AN_ACTION
        new = [option for option in options if judged and known and option not in known]
        container = key.replace(".", "-")
        with st.container(key=container):
            st.pills(
                label,
                options,
                selection_mode="multi",
                format_func=lambda option: f"{option} · new" if option in new else str(option),
                args=(path, key, lambda chosen: "" if set(chosen) == set(options) else _joined(chosen)),
                **common,
            )
            if new:
                hatch(container, (i for i, option in enumerate(options) if option in new))
        return
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
    value = st.session_state[key]
    try:
        if value == [] and path.endswith("_actions"):
            side = SIDES["train" if path == "data.train_actions" else "test"]
            raise UserError(f"Select at least one action for the {side}.")
        if value == [] and path == "methods":
            raise UserError("Select at least one method.")
        modes.check_folders({path.removeprefix("data."): value})  # before anybody looks into it
        state.choose(state.current().changed({path: to_text(value)}, source=CHANGE))
    except UserError as error:
        st.session_state[EDIT_ERROR] = _readable(str(error), path)


def _readable(message: str, path: str) -> str:
    """A refusal without the names of settings: people know one by its label."""
    scenario = state.current()
    text = message.removeprefix(f"{CHANGE}: ")
    if text.startswith(path):
        text = field_title(scenario, path) + text.removeprefix(path)
    return with_labels(text, scenario)


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


def _joined(values: Sequence[Any]) -> str:
    return ",".join(map(str, values))


def _sentence(text: str | None) -> str | None:
    """A description as help: it begins with a capital and ends with a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else None


def _is_choice(field: FieldInfo) -> bool:
    return get_origin(field.annotation) is Literal


def _is_action(field: FieldInfo) -> bool:
    """Whether a setting of one side says what it does, rather than how many or how much."""
    return _is_choice(field) or field.json_schema_extra == AN_ACTION


def _options(field: FieldInfo, value: Any) -> list[Any]:
    """What can be selected in a setting with several values: its literals or its examples, and what is selected now."""
    if not isinstance(value, tuple) or get_origin(field.annotation) is not tuple:
        return []
    kind = get_args(field.annotation)[0]
    known = list(get_args(kind)) if get_origin(kind) is Literal else list(field.examples or [])
    return [*known, *(v for v in value if v not in known)] if known else []


def _limit(field: FieldInfo, bounds: tuple[str, str], kind: type) -> Any:
    return next((kind(getattr(m, b)) for m in field.metadata for b in bounds if hasattr(m, b)), None)
