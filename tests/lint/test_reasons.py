"""A written reason for the placement makes a finding info and is quoted; other prose does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from recipe_lint.lint.reasons import placement_reason
from tests.lint.projects import brief, engine, run, write

LATE_COMPILE = """
def prepare_model(self):
    model = self.model_kit.build_model(self.config.model.path)
    model = parallelize_model(model, parallel_mesh=self.parallel_mesh)
    {gate_comment}
    if self.config.model.compile.enabled:
        {call_comment}
        model = self.model_kit.apply_model_compile(model, backend="inductor", mode="default")
    return model
"""

REASONS = [
    "Compile after sharding on purpose: the FSDP2 hooks must be part of the graph.",
    "We compile here, after DDP, because the bucketed reduction needs to overlap with the backward graph.",
    "compiled once the model is wrapped, since the wrapper's hooks would otherwise recompile every step",
    "Deliberately outside the usual order: fully_shard must see the eager blocks first (see issue #812).",
]
NO_REASONS = [
    "compile the model",
    "6. Compile model after parallelize",
    "Fallback (documented): the kit mode list does not include this experimental mode.",
    "The visual tower is kept out of the graph because flash attention needs a Python int.",
    "TODO: move this up",
    "parallelize first",
]


@pytest.mark.parametrize("text", REASONS)
@pytest.mark.parametrize("where", ["gate_comment", "call_comment"])
def test_a_reason_makes_it_info_and_is_quoted(tmp_path: Path, text: str, where: str) -> None:
    comments = {"gate_comment": "", "call_comment": "", where: f"# {text}"}
    result = run(write(tmp_path, {"demo/engine/engine.py": engine(LATE_COMPILE.format(**comments))}))
    assert [(code, severity) for code, _, severity in brief(result)] == [("RL101", "info")]
    assert result.findings[0].reason == text


@pytest.mark.parametrize("text", NO_REASONS)
def test_other_prose_is_no_reason(tmp_path: Path, text: str) -> None:
    code = engine(LATE_COMPILE.format(gate_comment=f"# {text}", call_comment=""))
    result = run(write(tmp_path, {"demo/engine/engine.py": code}))
    assert [(c, s) for c, _, s in brief(result)] == [("RL101", "warning")]
    assert result.findings[0].reason is None


def test_a_reason_over_several_lines_is_quoted_whole(tmp_path: Path) -> None:
    comment = "# Compile comes after sharding here, because the hooks of\n    # FSDP2 have to be in the graph."
    code = engine(LATE_COMPILE.format(gate_comment=comment, call_comment=""))
    result = run(write(tmp_path, {"demo/engine/engine.py": code}))
    assert result.findings[0].reason == (
        "Compile comes after sharding here, because the hooks of FSDP2 have to be in the graph."
    )


def test_a_comment_with_a_statement_between_is_not_above_the_call(tmp_path: Path) -> None:
    comment = f"# {REASONS[0]}\n    self.tokens = 0"
    code = engine(LATE_COMPILE.format(gate_comment=comment, call_comment=""))
    assert [s for _, _, s in brief(run(write(tmp_path, {"demo/engine/engine.py": code})))] == ["warning"]


def test_a_reason_speaks_of_the_other_step() -> None:
    text = "Frozen here, after the optimizer, because the warm-up of stage one needs every parameter."
    assert placement_reason(text, ("optimizer",)) == text
    assert placement_reason(text, ("parallelize",)) is None
    assert placement_reason(text, ()) is None
