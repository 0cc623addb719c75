"""One root cause is one finding; what it drags along hangs on it."""

from __future__ import annotations

from pathlib import Path

from recipe_lint.lint.causes import attach_consequences
from tests.lint.projects import engine, run, write

KIT_CALLS = {
    "freeze": "model = self.model_kit.apply_freeze_policy(model, freeze_vit=True)",
    "checkpoint": "model = self.model_kit.apply_gradient_checkpointing(model)",
    "compile": "model = self.model_kit.apply_model_compile(model, backend='inductor', mode='default')",
    "wrap": "model = DDP(model)",
}
OPTIMIZER = """
def prepare_optimizer(self):
    return self.optim_kit.build_optimizer(self.model, optimizer="AdamW", lr=1e-4)
"""


def ordered(folder: Path, *names: str) -> Path:
    body = "\n".join(f"    {KIT_CALLS[name]}" for name in names)
    hook = f"def prepare_model(self):\n    model = self.model_kit.build_model('x')\n{body}\n    return model\n"
    return write(folder, {"demo/engine/engine.py": engine(hook, OPTIMIZER)})


def test_a_wrapper_that_comes_too_early_is_one_finding(tmp_path: Path) -> None:
    result = run(ordered(tmp_path, "wrap", "freeze", "checkpoint", "compile"))
    assert [f.code for f in result.findings] == ["RL103"]
    assert [c.code for c in result.findings[0].consequences] == ["RL114", "RL101"]


def test_a_swap_of_two_far_steps_is_told_by_the_edge_between_them(tmp_path: Path) -> None:
    result = run(ordered(tmp_path, "wrap", "checkpoint", "compile", "freeze"))
    assert [f.code for f in result.findings] == ["RL103"]
    assert {c.code for c in result.findings[0].consequences} == {"RL114", "RL101", "RL104", "RL115"}


def test_two_independent_faults_are_two_findings(tmp_path: Path) -> None:
    hook = """
    def prepare_model(self):
        model = self.model_kit.build_model("x")
        self.early = self.optim_kit.build_optimizer(model, optimizer="AdamW", lr=1e-4)
        model = parallelize_model(model, parallel_mesh=self.parallel_mesh)
        model = self.model_kit.apply_gradient_checkpointing(model)
        return model
    """
    result = run(write(tmp_path, {"demo/engine/engine.py": engine(hook)}))
    assert sorted(f.code for f in result.findings) == ["RL114", "RL118"]


def test_the_grouping_does_not_depend_on_the_order_of_the_findings(tmp_path: Path) -> None:
    result = run(ordered(tmp_path, "wrap", "checkpoint", "compile", "freeze"))
    alone = list(result.findings)
    assert attach_consequences(alone) == attach_consequences(list(reversed(alone)))
