"""Findings and sources that the report tests share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recipe_lint.lint.finding import Consequence, Edit, Finding, Fix, Related, Severity, Span
from recipe_lint.lint.result import Result, UnknownCall

ENGINE = "recipes/x/engine/x_engine.py"
BUILDER = "recipes/x/model/builder.py"
HELPERS = "recipes/x/model/helpers.py"
ODD = "recipes/x/model/odd.py"

ENGINE_TEXT = """\
import torch
from torch.nn.parallel import DistributedDataParallel as DDP


class XEngine(Engine):
    def prepare_model(self):
        model = build(self.config)

        model = DDP(model, device_ids=[self.local_rank])
        # The projector is trained alone.

        for name, p in model.named_parameters():
            if not name.startswith("projector."):
                p.requires_grad = False
        for p in model.parameters():
            p.data = p.data.float()
        return model
"""

BUILDER_TEXT = """\
from .helpers import wrap


def build(config):
    model = load(config)
    model = wrap(model)
    return model
"""

HELPERS_TEXT = """\
def wrap(model):
    wrapped = fully_shard(model)
    return wrapped
"""

ODD_TEXT = "\n".join(
    [
        'name = "冻结视觉塔"; freeze(model)',
        "\tif stage:\tfreeze(model)  # 🚀",
        'e = "e\u0301te\u0301"; freeze(model)',
        'log("\x1b[31m\u202eevil"); freeze(model)',
        "x = [" + ", ".join(f"item_{number}" for number in range(350)) + "]; freeze(model); "
        "y = [" + ", ".join(f"item_{number}" for number in range(200)) + "]",
    ]
)

FILES = {ENGINE: ENGINE_TEXT, BUILDER: BUILDER_TEXT, HELPERS: HELPERS_TEXT, ODD: ODD_TEXT}


def sources(path: str) -> Sequence[str] | None:
    text = FILES.get(path)
    return None if text is None else text.split("\n")


def at(path: str, line: int, text: str) -> Span:
    """The span of ``text`` in a line of a sample file."""
    start = FILES[path].split("\n")[line - 1].index(text) + 1
    return Span(path, line, start, line, start + len(text))


FREEZE = Finding(
    code="RL103",
    name="freeze-after-parallelize",
    severity=Severity.error,
    certainty="certain",
    recipe="recipes/x",
    engine="XEngine",
    span=at(ENGINE, 14, "p.requires_grad = False"),
    message="freeze runs after parallelize",
    label="freeze happens here",
    harm='After DDP every name starts with "module.", so the prefix matches nothing and the projector is frozen '
    "together with everything else.",
    help="Freeze before the model is wrapped.",
    conditions=("model.compile.enabled",),
    stages=("stage1.yaml", "stage2.yaml"),
    related=(Related(at(ENGINE, 9, "DDP(model, device_ids=[self.local_rank])"), "parallelize happens here"),),
    fingerprint="5f0c",
)

OTHER_FILE = replace(
    FREEZE,
    conditions=(),
    stages=(),
    related=(Related(at(HELPERS, 2, "fully_shard(model)"), "parallelize happens here"),),
)

CHAIN = replace(
    FREEZE,
    conditions=("model.compile.enabled", "not model.lora.enabled"),
    related=(
        Related(at(ENGINE, 7, "build(self.config)"), "calls the builder"),
        Related(at(BUILDER, 6, "wrap(model)"), "calls wrap"),
        Related(at(HELPERS, 2, "fully_shard(model)"), "parallelize happens here"),
    ),
)

MAY = replace(FREEZE, severity=Severity.warning, certainty="may")

REASON = replace(
    FREEZE,
    code="RL401",
    name="fallback-with-reason",
    severity=Severity.info,
    message="recipe-local freeze stands beside the kit",
    harm="",
    help="",
    conditions=(),
    related=(),
    reason="The projector is trained alone,\n    which the kit cannot express.",
)

CONSEQUENCES = replace(
    FREEZE,
    consequences=(
        Consequence(
            "RL107",
            "upcast-after-parallelize",
            Severity.error,
            at(ENGINE, 16, "p.data = p.data.float()"),
            "upcast runs after parallelize",
        ),
    ),
    fix=Fix("unsafe", "move the loop above the wrap", (Edit(Span(ENGINE, 9, 1, 9, 1), "# moved\n"),)),
)


def odd(line: int, **changes: str) -> Finding:
    return replace(
        REASON,
        span=at(ODD, line, "freeze(model)"),
        label=changes.get("label", "freeze happens here"),
        reason=None,
        message=changes.get("message", "freeze stands here"),
    )


def result(*findings: Finding, unknown: int = 0) -> Result:
    return Result(
        findings=findings,
        recipes=("recipes/w", "recipes/x", "recipes/y"),
        engines=4,
        files=17,
        model_calls=40,
        unknown=tuple(
            UnknownCall(Span(ENGINE, 7 + number, 9, 7 + number, 14), "recipes/x", "XEngine", "hook(model)", "not found")
            for number in range(unknown)
        ),
    )
