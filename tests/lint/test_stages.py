"""Stages decide the backend and which gates are open; severity follows the worst of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lint.projects import engine, run, write

COMPILE_LATE = """
def prepare_model(self):
    model = self.model_kit.build_model(self.config.model.path)
    model = parallelize_model(model, parallel_mesh=self.parallel_mesh)
    if self.config.model.compile.enabled:
        model = self.model_kit.apply_model_compile(model, backend="inductor", mode="default")
    return model
"""
OPTIMIZER_EARLY = """
def prepare_model(self):
    model = self.model_kit.build_model(self.config.model.path)
    self.adam = self.optim_kit.build_optimizer(model, optimizer="AdamW", lr=1e-4)
    return parallelize_model(model, parallel_mesh=self.parallel_mesh)
"""


def stage(shard: int, compiled: bool = True, tensor: int = 1) -> str:
    return (
        "engine: Demo\n"
        f"parallel:\n  mesh: {{replicate: 1, shard: {shard}, tensor: {tensor}}}\n"
        f"model:\n  compile: {{enabled: {str(compiled).lower()}}}\n"
    )


def found(folder: Path, hook: str, **stages: str) -> tuple[str, str, tuple[str, ...]]:
    files = {"demo/engine/engine.py": engine(hook)}
    files |= {f"demo/configs/{name}.yaml": text for name, text in stages.items()}
    (finding,) = run(write(folder, files)).findings
    return finding.code, finding.severity.name, finding.stages


@pytest.mark.parametrize(
    ("shards", "severity"),
    [({"stage1": 1}, "error"), ({"stage1": 8}, "warning"), ({"stage1": 8, "stage2": 1}, "error")],
)
def test_compile_after_ddp_is_an_error_with_a_visual_tower_only(
    tmp_path: Path, shards: dict[str, int], severity: str
) -> None:
    stages = {name: stage(shard) for name, shard in shards.items()}
    names = tuple(f"{name}.yaml" for name in shards)
    assert found(tmp_path, COMPILE_LATE, **stages) == ("RL101", severity, names)


def test_only_stages_that_open_the_gate_are_named(tmp_path: Path) -> None:
    stages = {"stage1": stage(1, compiled=False), "stage2": stage(8)}
    assert found(tmp_path, COMPILE_LATE, **stages) == ("RL101", "warning", ("stage2.yaml",))


def test_with_no_stage_open_the_finding_stays_and_names_none(tmp_path: Path) -> None:
    assert found(tmp_path, COMPILE_LATE, stage1=stage(8, compiled=False)) == ("RL101", "warning", ())


@pytest.mark.parametrize(("shard", "severity"), [(1, "info"), (8, "error")])
def test_an_early_optimizer_matters_where_parameters_are_sharded(tmp_path: Path, shard: int, severity: str) -> None:
    assert found(tmp_path, OPTIMIZER_EARLY, stage1=stage(shard)) == ("RL118", severity, ("stage1.yaml",))


def test_without_stages_the_backend_is_unknown(tmp_path: Path) -> None:
    assert found(tmp_path, OPTIMIZER_EARLY) == ("RL118", "error", ())


def test_a_stage_where_it_is_mere_convention_is_not_listed_beside_an_error(tmp_path: Path) -> None:
    stages = {"stage1": stage(1), "stage2": stage(8)}
    assert found(tmp_path, OPTIMIZER_EARLY, **stages) == ("RL118", "error", ("stage2.yaml",))
