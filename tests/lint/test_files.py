"""Which files are judged, and through which engine."""

from __future__ import annotations

from pathlib import Path

from recipe_lint.report.json import render_json
from tests.lint.projects import brief, engine, run, write

BUILDER = """\
from torch.nn.parallel import DistributedDataParallel


def build(kit, path):
    model = kit.build_model(path)
    model = DistributedDataParallel(model)
    return kit.apply_freeze_policy(model, freeze_vit=True)
"""
HOOK = """
def prepare_model(self):
    from ..model.builder import build

    return build(self.model_kit, "x")
"""


def recipe(folder: Path) -> Path:
    return write(folder, {"demo/engine/engine.py": engine(HOOK), "demo/model/builder.py": BUILDER})


def test_a_fault_in_a_builder_is_told_at_the_builder(tmp_path: Path) -> None:
    (finding,) = run(recipe(tmp_path)).findings
    assert (finding.code, finding.span.line, Path(finding.span.path).name) == ("RL103", 7, "builder.py")
    assert finding.engine == "Demo"
    assert any(related.label == "called from here" for related in finding.related)


def test_a_helper_file_named_alone_is_judged_through_its_engine(tmp_path: Path) -> None:
    result = run(recipe(tmp_path) / "demo/model/builder.py")
    assert [(f.code, f.engine) for f in result.findings] == [("RL103", "Demo")]


def test_a_stage_named_alone_is_judged_through_its_engine(tmp_path: Path) -> None:
    recipe(tmp_path)
    write(tmp_path, {"demo/configs/stage1.yaml": "engine: Demo\nmodel: {path: x}\n"})
    assert [f.code for f in run(tmp_path / "demo/configs/stage1.yaml").findings] == ["RL103"]


def test_two_engines_that_share_a_builder_tell_its_fault_once(tmp_path: Path) -> None:
    recipe(tmp_path)
    write(tmp_path, {"demo/engine/second.py": engine(HOOK).replace("class Demo", "class Second")})
    result = run(tmp_path)
    assert (len(result.findings), result.engines) == (1, 2)


def test_two_engines_in_two_recipes_are_counted(tmp_path: Path) -> None:
    write(tmp_path, {"a/engine/a.py": engine(HOOK), "b/engine/b.py": engine(HOOK)})
    result = run(tmp_path)
    assert (len(result.recipes), result.engines, result.findings) == (2, 2, ())


def test_the_same_tree_gives_the_same_bytes(tmp_path: Path) -> None:
    recipe(tmp_path)
    write(tmp_path, {"demo/engine/second.py": engine(HOOK).replace("class Demo", "class Second")})
    whole = render_json(run(tmp_path))
    assert whole == render_json(run(tmp_path))
    files = sorted(tmp_path.rglob("*.py"))
    assert render_json(run(*files)) == render_json(run(*reversed(files)))


def test_a_fingerprint_survives_a_shift_of_lines(tmp_path: Path) -> None:
    recipe(tmp_path)
    before = [f.fingerprint for f in run(tmp_path).findings]
    path = tmp_path / "demo/model/builder.py"
    path.write_text("# one more line\n\n" + path.read_text())
    after = run(tmp_path).findings
    assert [f.fingerprint for f in after] == before
    assert after[0].span.line == 9


def test_a_fault_on_the_teacher_is_not_one_on_the_student(tmp_path: Path) -> None:
    hook = """
    def prepare_model(self):
        from copy import deepcopy

        model = self.model_kit.build_model("x")
        self.teacher = deepcopy(model)
        model = DDP(model)
        self.teacher.requires_grad_(False)
        return model
    """
    assert brief(run(write(tmp_path, {"demo/engine/engine.py": engine(hook)}))) == []
