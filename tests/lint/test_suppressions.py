"""Suppressions need a reason, a use and a rule that exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lint.projects import brief, engine, run, write

FROZEN_LATE = """
def prepare_model(self):
    model = self.model_kit.build_model(self.config.model.path)
    model = DDP(model)
    {above}
    model = self.model_kit.apply_freeze_policy(  {behind}
        model,
        freeze_vit=True,
    )  {end}
    return model
"""
FREEZE_LINE = 19


def project(folder: Path, above: str = "pass", behind: str = "", end: str = "", top: str = "") -> Path:
    code = top + engine(FROZEN_LATE.format(above=above, behind=behind, end=end))
    return write(folder, {"demo/engine/engine.py": code})


def test_without_a_suppression_the_fault_is_told(tmp_path: Path) -> None:
    assert brief(run(project(tmp_path))) == [("RL103", FREEZE_LINE, "error")]


@pytest.mark.parametrize("name", ["RL103", "freeze-after-parallelize", "rl103"])
@pytest.mark.parametrize("where", ["above", "behind", "end"])
def test_a_reasoned_suppression_works_by_code_and_name(tmp_path: Path, name: str, where: str) -> None:
    comment = f"# recipe-lint: ignore[{name}] the wrapper is a stub in this test rig"
    assert brief(run(project(tmp_path, **{where: comment}))) == []


def test_prose_may_stand_between_the_comment_and_the_call(tmp_path: Path) -> None:
    above = "# recipe-lint: ignore[RL103] the wrapper is a stub\n    # frozen again for the second stage"
    assert brief(run(project(tmp_path, above=above))) == []


def test_a_whole_file_can_be_suppressed(tmp_path: Path) -> None:
    top = "# recipe-lint: ignore-file[RL103] generated for a rig without ranks\n"
    assert brief(run(project(tmp_path, top=top))) == []


def test_a_suppression_without_a_reason_has_no_effect_and_is_told(tmp_path: Path) -> None:
    found = brief(run(project(tmp_path, behind="# recipe-lint: ignore[RL103]")))
    assert found == [("RL103", FREEZE_LINE, "error"), ("RL003", FREEZE_LINE, "warning")]


def test_an_unused_suppression_is_told(tmp_path: Path) -> None:
    found = run(project(tmp_path, above="# recipe-lint: ignore[RL103, RL101] rig").parent / tmp_path.name)
    assert brief(found) == [("RL004", FREEZE_LINE - 1, "warning")]
    assert "RL101" in found.findings[0].message
    assert "RL103" not in found.findings[0].message


def test_an_unknown_code_is_told(tmp_path: Path) -> None:
    found = run(project(tmp_path, above="# recipe-lint: ignore[RL999] no such rule"))
    assert brief(found) == [("RL005", FREEZE_LINE - 1, "warning"), ("RL103", FREEZE_LINE, "error")]
    assert "RL999" in found.findings[0].message


def test_a_suppression_must_name_its_rules(tmp_path: Path) -> None:
    found = run(project(tmp_path, above="# recipe-lint: ignore because I say so"))
    assert brief(found) == [("RL005", FREEZE_LINE - 1, "warning"), ("RL103", FREEZE_LINE, "error")]


def test_the_words_in_a_string_are_no_suppression(tmp_path: Path) -> None:
    above = 'note = "# recipe-lint: ignore[RL103] not a comment"'
    assert brief(run(project(tmp_path, above=above))) == [("RL103", FREEZE_LINE, "error")]


def test_a_suppression_on_the_inner_line_of_a_helper_counts(tmp_path: Path) -> None:
    code = engine(
        """
        def prepare_model(self):
            model = self.model_kit.build_model(self.config.model.path)
            model = DDP(model)
            self._freeze(model)
            return model
        """,
        """
        def _freeze(self, model):
            for p in model.parameters():
                p.requires_grad = False  # recipe-lint: ignore[RL103] one rank only
        """,
    )
    assert brief(run(write(tmp_path, {"demo/engine/engine.py": code}))) == []


def test_a_suppressed_cause_does_not_hide_its_consequences(tmp_path: Path) -> None:
    code = engine(
        """
        def prepare_model(self):
            model = self.model_kit.build_model(self.config.model.path)
            model = DDP(model)
            # recipe-lint: ignore[RL103] the policy is empty at this stage
            model = self.model_kit.apply_freeze_policy(model, freeze_vit=False)
            model = self.model_kit.apply_gradient_checkpointing(model)
            return model
        """
    )
    found = brief(run(write(tmp_path, {"demo/engine/engine.py": code})))
    assert found == [("RL114", 20, "error")]
