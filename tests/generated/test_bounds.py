"""Past every bound the tracer still ends, still finds what is there, and says "may" of what it has joined."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

import pytest

from recipe_lint.lint.finding import Finding
from recipe_lint.read.imports import Project
from recipe_lint.trace.guards import MAX_CUBES
from recipe_lint.trace.life import Life
from recipe_lint.trace.machine import MAX_WORK, Machine
from recipe_lint.trace.relevance import Relevance
from recipe_lint.trace.values import ClassRef

from .dresses import pack, run

_HEAD = """\
from torch.nn.parallel import DistributedDataParallel as DDP

from mvp_engine.engine import Engine
from mvp_engine.kit import MLLMModelKit


class LargeEngine(Engine):
    def prepare_model(self):
        kit = MLLMModelKit()
        cfg = self.config.model
        model = kit.build_model(cfg.path)
"""
_WRAP = "model = DDP(model)"
_FREEZE = "model = kit.apply_freeze_policy(model, freeze_vit=True)"
_WRONG = (_WRAP, _FREEZE)
_RIGHT = (_FREEZE, _WRAP)


def write(root: Path, lines: Iterable[str], rest: str = "") -> Path:
    """A project whose engine does ``lines`` after the load."""
    (root / ".git").mkdir(exist_ok=True)
    path = root / "engine.py"
    body = textwrap.indent("\n".join(lines), " " * 8)
    path.write_text(f"{_HEAD}{body}\n        return model\n{rest}", encoding="utf-8")
    return path


def judge(root: Path, lines: Iterable[str], rest: str = "") -> list[Finding]:
    result = run(write(root, lines, rest))
    assert result.internal_errors == ()
    return list(result.findings)


def work(root: Path, lines: Iterable[str], rest: str = "") -> Machine:
    """The machine after it has traced the engine."""
    project = Project(root, Path.cwd())
    module = project.load(write(root, lines, rest))
    assert module is not None
    machine = Machine(project, pack().protocol, Relevance(project, pack().protocol))
    machine.life = Life(machine, ClassRef(module, module.classes["LargeEngine"]), ())
    machine.life.run()
    return machine


def nest(headers: Iterable[str], inner: Iterable[str]) -> list[str]:
    """``inner`` below all of the headers, one deeper each."""
    lines: list[str] = []
    depth = 0
    for header in headers:
        lines.append("    " * depth + header)
        depth += 1
    return [*lines, *("    " * depth + line for line in inner)]


def independent(count: int, *lines: str) -> list[str]:
    return [text for n in range(count) for text in (f"if cfg.gate_{n}:", *(f"    {line}" for line in lines))]


def codes(findings: Iterable[Finding]) -> list[str]:
    return [finding.code for finding in findings]


def test_forty_gates_that_rebind_in_place_join_nothing(tmp_path: Path) -> None:
    lines = independent(40, "model = kit.apply_gradient_checkpointing(model)")
    found = judge(tmp_path, [*_WRONG, *lines])
    assert [(f.certainty, f.conditions) for f in found if f.code == "RL103"] == [("certain", ())]
    assert judge(tmp_path, [_FREEZE, *lines, _WRAP]) == []


@pytest.mark.parametrize("count", [10, 40])
def test_work_grows_with_the_number_of_gates_and_not_with_their_paths(tmp_path: Path, count: int) -> None:
    lines = independent(count, _WRAP, _FREEZE)
    machine = work(tmp_path, lines)
    assert machine.work < 100 + 10 * count
    assert len(machine.record.events) <= 1 + 4 * count
    assert "RL103" in codes(judge(tmp_path, lines))


def test_one_of_forty_models_is_still_in_the_wrong_order(tmp_path: Path) -> None:
    lines = independent(40, "model = kit.build_model(cfg.path)")
    assert codes(judge(tmp_path, [*lines, *_WRONG])).count("RL103") == 1
    assert "RL103" not in codes(judge(tmp_path, [*lines, *_RIGHT]))


def test_guards_past_the_bound_are_may(tmp_path: Path) -> None:
    gates = " or ".join(f"(cfg.a_{n} and cfg.b_{n})" for n in range(2 * MAX_CUBES))
    found = judge(tmp_path, [_WRAP, f"if {gates}:", f"    {_FREEZE}"])
    assert [(f.code, f.certainty) for f in found] == [("RL103", "may")]


def test_twenty_nested_loops(tmp_path: Path) -> None:
    headers = [f"for n_{n} in range(cfg.many):" for n in range(19)]
    assert codes(judge(tmp_path, [_WRAP, *nest(headers, [_FREEZE])])) == ["RL103"]
    assert work(tmp_path, [_WRAP, *nest(headers, [_FREEZE])]).work < 200


def test_nested_loops_over_known_items_end(tmp_path: Path) -> None:
    headers = [f"for n_{n} in (1, 2, 3, 4):" for n in range(15)]
    machine = work(tmp_path, [_WRAP, *nest(headers, [_FREEZE])])
    assert machine.work <= MAX_WORK + 1_000
    assert codes(judge(tmp_path, [_WRAP, *nest(headers[:5], [_FREEZE])])) == ["RL103"]


def test_forty_loops_through_helpers(tmp_path: Path) -> None:
    helpers = [
        f"def loop_{n}(kit, model):\n    for i in range(9):\n        loop_{n + 1}(kit, model)\n    return model\n"
        for n in range(39)
    ]
    last = f"def loop_39(kit, model):\n    for i in range(9):\n        {_FREEZE}\n    return model\n"
    found = judge(tmp_path, [_WRAP, "model = loop_0(kit, model)"], "\n\n" + "\n\n".join([*helpers, last]))
    assert codes(found) == ["RL103"]


def test_a_comprehension_of_forty_loops(tmp_path: Path) -> None:
    loops = " ".join(f"for n_{n} in range({n})" for n in range(40))
    found = judge(tmp_path, [_WRAP, f"done = [kit.apply_freeze_policy(model, freeze_vit=True) {loops}]"])
    assert codes(found) == ["RL103"]


def test_forty_nested_gates(tmp_path: Path) -> None:
    headers = [f"if cfg.gate_{n}:" for n in range(40)]
    found = judge(tmp_path, [_WRAP, *nest(headers, [_FREEZE])])
    assert codes(found) == ["RL103"]
    assert found[0].certainty == "certain"
    assert found[0].conditions == tuple(sorted(f"model.gate_{n}" for n in range(40)))
    assert work(tmp_path, [_WRAP, *nest(headers, [_FREEZE])]).work < 200


def test_sixty_early_returns(tmp_path: Path) -> None:
    returns = [
        text
        for n in range(60)
        for text in (f"if cfg.a_{n}:", f"    if cfg.b_{n} or not cfg.c_{n}:", "        return model")
    ]
    found = judge(tmp_path, [*returns, *_WRONG])
    assert [f.code for f in found if f.code != "RL203"] == ["RL103"]
    # Sixty ways out are past the bound on guards: which of them leaves before the wrapper is only a "may".
    assert {(f.code, f.certainty) for f in judge(tmp_path, [*returns, *_RIGHT])} <= {("RL203", "may")}
    assert codes(judge(tmp_path, [*returns[:6], *_RIGHT])) == []
    assert work(tmp_path, [*returns, *_WRONG]).work < 1_000


def test_helpers_two_hundred_deep(tmp_path: Path) -> None:
    helpers = [f"def deep_{n}(kit, model):\n    return deep_{n + 1}(kit, model)\n" for n in range(200)]
    last = f"def deep_200(kit, model):\n    {_FREEZE}\n    return model\n"
    rest = "\n\n" + "\n\n".join([*helpers, last])
    found = judge(tmp_path, [_WRAP, "model = deep_0(kit, model)"], rest)
    assert [(f.code, f.certainty, f.span.line) for f in found] == [("RL103", "certain", 13)]


def test_helpers_too_deep_are_said_to_be_unknown(tmp_path: Path) -> None:
    helpers = [f"def deep_{n}(kit, model):\n    return deep_{n + 1}(kit, model)\n" for n in range(300)]
    last = f"def deep_300(kit, model):\n    {_FREEZE}\n    return model\n"
    rest = "\n\n" + "\n\n".join([*helpers, last])
    result = run(write(tmp_path, [_WRAP, "model = deep_0(kit, model)"], rest))
    assert result.internal_errors == ()
    assert "calls are nested too deeply" in {call.why for call in result.unknown}


def test_three_hundred_arms(tmp_path: Path) -> None:
    arms = ["if cfg.kind == 'first':", f"    {_WRAP}"]
    for number in range(300):
        arms += [f"elif cfg.kind == 'kind-{number}':", f"    {_WRAP}", f"    {_FREEZE}"]
    arms += ["else:", f"    {_FREEZE}"]
    found = judge(tmp_path, arms)
    assert codes(found) == ["RL103"] * 300
    assert {f.certainty for f in found} == {"certain"}
    assert len(work(tmp_path, arms).record.events) == 603


_CHILD = """\
import sys
from pathlib import Path
from recipe_lint.config.load import Resolver
from recipe_lint.lint.pack import load_pack
from recipe_lint.lint.run import lint
result = lint([Path(sys.argv[1])], Resolver(isolated=True), load_pack())
assert not result.internal_errors, result.internal_errors
print(result.model_calls, *{told.code for found in result.findings for told in (found, *found.consequences)})
"""


def test_five_thousand_calls_in_one_body(tmp_path: Path) -> None:
    steps = ("apply_gradient_checkpointing(model)", "apply_model_compile(model)", "apply_freeze_policy(model)")
    lines = [_WRAP, *(f"model = kit.{steps[n % 3]}" for n in range(5_000))]
    path = write(tmp_path, lines)
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    count, *found = done.stdout.split()
    assert int(count) >= 5_002
    assert {"RL101", "RL103", "RL114"} <= set(found)
