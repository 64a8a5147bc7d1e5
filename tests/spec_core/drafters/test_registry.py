"""The registry: settings are checked, and a rule fits what is drafted or is refused with its reason."""

from __future__ import annotations

import pytest

from spec_core.acceptance import RULES
from spec_core.drafters import AUTO, FITTING, KINDS, choose_rule, complete_settings, fitting_rules
from spec_core.drafters.settings import Choice, Shape
from spec_core.messages import UserError

VARIANTS = [(name, {}) for name in KINDS] + [
    ("multi-candidate", {"siblings": "with-replacement"}), ("multi-candidate", {"tree": "dynamic"}),
    ("universal", {"method": "intersection"})]


@pytest.mark.parametrize("drafter, given", VARIANTS, ids=str)
def test_a_rule_fits_or_is_refused_with_its_reason(drafter, given):
    settings = complete_settings(drafter, given)
    fitting = fitting_rules(drafter, settings)
    assert choose_rule(drafter, settings, AUTO) == fitting[0]
    assert RULES[fitting[0]].lossless
    for rule in RULES:
        if rule in fitting:
            assert choose_rule(drafter, settings, rule) == rule
        else:
            with pytest.raises(UserError) as caught:
                choose_rule(drafter, settings, rule)
            assert caught.value.key == f"request.rule.{rule}"
            assert fitting[0] in str(caught.value) and caught.value.say("zh") != str(caught.value)


def test_every_rule_fits_somewhere_and_all_names_are_known():
    assert {rule for rules in FITTING.values() for rule in rules} == set(RULES)
    with pytest.raises(UserError) as caught:
        choose_rule("rest", complete_settings("rest", {}), "coin")
    assert caught.value.key == "request.unknown"


def test_what_a_choice_governs_exists():
    for kind in KINDS.values():
        for setting in kind.settings.values():
            if isinstance(setting, Choice):
                assert setting.default in setting.options and set(setting.governs) <= set(setting.options)
                assert all(name in kind.settings for names in setting.governs.values() for name in names)


@pytest.mark.parametrize("text, widths", [("4x2x2x1x1", [4, 2, 2, 1, 1]), (" 3 X 2 ", [3, 2]), ("2×2", [2, 2]), ("7", [7])])
def test_shapes(text, widths):
    shape = Shape("4x2", 16, 256)
    assert Shape.widths(shape.check("shape", text)) == widths


@pytest.mark.parametrize("text, key", [
    ("", "request.shape"), ("4x", "request.shape"), ("0x2", "request.shape"), ("-1", "request.shape"), ("4x2x!", "request.shape"),
    (None, "request.shape"), ("9999", "request.shape"), ("257", "request.shape_too_large"),
    ("16x16", "request.shape_too_large"), ("x".join("1" * 17), "request.shape_too_large")])
def test_bad_shapes_are_a_sentence(text, key):
    with pytest.raises(UserError) as caught:
        complete_settings("multi-candidate", {"shape": text})
    assert caught.value.key == key and caught.value.say("zh") != str(caught.value)
