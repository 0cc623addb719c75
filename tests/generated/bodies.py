"""Random set-up code: a tree of statements over placeholders for names, rendered with the names that a test chooses."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from hypothesis import strategies as st

NAMES = {"A": "model", "B": "other", "K": "kit", "C": "cfg", "X": "flag"}
_PLACEHOLDER = re.compile(r"\$([A-Z])")


@dataclass(frozen=True)
class Line:
    """One statement on one line."""

    text: str


@dataclass(frozen=True)
class Do:
    """Steps on one model, the first innermost: ``model = outer(inner(model))``, or one assignment for each."""

    model: str
    calls: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """A compound statement: headers with their bodies."""

    parts: tuple[tuple[str, tuple[Node, ...]], ...]


Node = Line | Do | Block


@dataclass(frozen=True)
class Shape:
    """How a body is rendered: with which names, nested calls split, and which ``Do`` (by number) becomes a method."""

    names: Mapping[str, str] = field(default_factory=lambda: NAMES)
    split: bool = False
    extract: frozenset[int] = frozenset()
    as_function: bool = False


STEP_CALLS = (
    "$K.apply_model_patches({}, patch_fns=put_tower_in)",
    "$K.apply_model_patches({}, patch_fns=[put_tower_in, leave_it])",
    "$K.apply_freeze_policy({}, freeze_vit=True)",
    "$K.apply_gradient_checkpointing({}, use_reentrant=False)",
    '$K.apply_model_compile({}, backend="inductor")',
    "TokenNormedLossKit().apply_chunked_token_loss_patch({})",
    "DDP({}, device_ids=[0])",
    "in_float32({})",
    "keep_optimizer({}, self)",
    "self._freeze({})",
    "torch.compile({})",
)

_SIMPLE = (
    "$B = $A",
    "$A, $B = $B, $A",
    "$A = copy.deepcopy($B)",
    "$A = $K.build_model($C.path)",
    "$A = AutoModel.from_pretrained($C.path)",
    "$K = self.model_kit",
    "$K = $K",
    "$C = self.config.model",
    "$C = $C.inner",
    "$C = $C.model_copy()",
    "$X = $C.x.enabled",
    "$X = not $X",
    "$X = getattr($C, 'freeze', False) and $X",
    "self.model = $A",
    "$A = self.model",
    "self.model.visual.requires_grad_(False)",
    "$A.requires_grad_($X)",
    "$A.visual = Tower()",
    "$A.compile()",
    "$A.gradient_checkpointing_enable()",
    "self.optimizer = torch.optim.AdamW($A.parameters(), lr=1e-4)",
    "self.optimizer = self.optim_kit.build_optimizer($A)",
    "$A += $B",
    "$A |= $B",
    "$K += $A",
    "$C += 1",
    "$C.depth += 1",
    "$A: nn.Module = $B",
    "if ($A := $B) is not None: pass",
    "print(f'{$A!r:>{$C}}', *[$A], **{'m': $A})",
    "[p.requires_grad_(False) for p in $A.parameters() if p.ndim > 1]",
    "{n: p for n, p in $A.named_parameters()}",
    "$B = [$A, *[$B]]",
    "$A, *$B = self._pair($A)",
    "$A = self._pair($A)[0]",
    "step = lambda it, k=$K: k.apply_freeze_policy(it, freeze_vit=True)",
    "$A = (lambda it: DDP(it))($A)",
    "$A = DDP($A) if $X else $A",
    "$A = $X and torch.compile($A) or $A",
    "$A = reduce(lambda it, f: f(it), (in_float32, DDP), $A)",
    "$A = partial(DDP, device_ids=[0])($A)",
    "$A = self._again($A)",
    "$A = even($A)",
    "$A = getattr(self.model_kit, 'apply_freeze_policy')($A)",
    "del $B",
    "assert $A is not None, $X",
    "global seen; seen = $A",
    "$A = (yield $A)",
    "$A = $A[0].to('cuda').train()",
    "($A, ($B, $X)) = ($B, ($A, $C))",
    "self.models = {'a': $A, 'b': $B}; $A = self.models['b']",
    "return $A",
    "raise ValueError($A)",
    "pass",
    "...",
)

_LOOPED = ("break", "continue", "if $X: break", "if $X: continue")

_TESTS = (
    "$X",
    "not $X",
    "$C.x.enabled",
    "self.config.model.y.enabled",
    "$C.mode == 'a' or $C.mode == 'b'",
    "$C.depth > 3",
    "$C.depth <= 2 and $X",
    "$A is not None",
    "isinstance($A, DDP)",
    "hasattr($A, 'visual')",
    "($X := $C.z)",
    "any(p.requires_grad for p in $A.parameters())",
)


def _block(headers: tuple[str, ...]) -> Callable[[st.SearchStrategy[Node]], st.SearchStrategy[Node]]:
    """A compound statement with these headers around random bodies."""

    def make(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        bodies = st.tuples(*(st.lists(inner, min_size=1, max_size=3).map(tuple) for _ in headers))
        tests = st.tuples(*(st.sampled_from(_TESTS) for _ in headers))
        return st.builds(
            lambda made, conditions: Block(
                tuple((h.replace("?", c), b) for h, b, c in zip(headers, made, conditions, strict=True))
            ),
            bodies,
            tests,
        )

    return make


_GATES = (("if ?:",), ("if ?:", "else:"), ("if ?:", "elif ?:", "else:"))
_ROUGH = (
    ("for p in $A.parameters():",),
    ("for n, p in $A.named_parameters():", "else:"),
    ("for step in (in_float32, self._freeze, DDP):",),
    ("for $A in ($A, $B):",),
    ("for $A in self.models.values():",),
    ("while ?:",),
    ("while True:", "else:"),
    ("try:", "except RuntimeError as error:"),
    ("try:", "except (ValueError, TypeError):", "except Exception:", "else:", "finally:"),
    ("try:", "finally:"),
    ("with torch.no_grad():",),
    ("with self.timer($A) as $B, open($C):",),
    ("match $C.mode:", "    case 'a' | 'b':", "    case {'k': $B, **rest} if $X:", "    case [$A, *_]:", "    case _:"),
    ("def inner($A=$A):",),
    ("async def later($B, *rest, k=$K, **more):",),
    ("class Inner($C):",),
)


def nodes(rough: bool, calls: int) -> st.SearchStrategy[Node]:
    """Statements; with ``rough`` every kind of statement that Python has, else steps behind gates."""
    steps = st.builds(
        Do,
        st.sampled_from(("$A", "$A", "$A", "$B")),
        st.lists(st.sampled_from(STEP_CALLS), min_size=1, max_size=calls).map(tuple),
    )
    kinds = [_block(headers) for headers in (*_GATES, *(_ROUGH if rough else ()))]
    leaves = steps | st.sampled_from((*_SIMPLE, *_LOOPED)).map(Line) if rough else steps
    return st.recursive(leaves, lambda inner: st.one_of(*(kind(inner) for kind in kinds)), max_leaves=12)


def bodies(rough: bool, calls: int = 2) -> st.SearchStrategy[tuple[Node, ...]]:
    """Bodies of ``prepare_model``."""
    return st.lists(nodes(rough, calls), min_size=1, max_size=6).map(tuple)


class Renderer:
    """Turns a body into lines; extracted steps become methods or functions of their own."""

    def __init__(self, shape: Shape) -> None:
        """Nothing is rendered yet."""
        self.shape = shape
        self.methods: list[str] = []
        self.count = 0

    def lines(self, body: tuple[Node, ...], depth: int, in_loop: bool = False) -> Iterator[str]:
        """The lines of a body."""
        pad = "    " * depth
        for node in body:
            match node:
                case Line(text=text):
                    yield pad + ("pass" if text in _LOOPED and not in_loop else text)
                case Do():
                    yield from (pad + line for line in self._do(node))
                case Block(parts=parts):
                    yield from self._block(parts, depth, in_loop)

    def _block(self, parts: tuple[tuple[str, tuple[Node, ...]], ...], depth: int, in_loop: bool) -> Iterator[str]:
        pad = "    " * depth
        for header, body in parts:
            yield pad + header
            if header.startswith("match "):
                continue
            kind = header.split()[0]
            looped = kind in ("for", "while") or (in_loop and kind not in ("def", "async", "class", "else:"))
            yield from self.lines(body, depth + 1 + header.startswith("    "), looped)

    def _do(self, node: Do) -> list[str]:
        number = self.count
        self.count += 1
        if self.shape.split:
            return [f"{node.model} = {call.format(node.model)}" for call in node.calls]
        text = node.model
        for call in node.calls:
            text = call.format(text)
        if number not in self.shape.extract:
            return [f"{node.model} = {text}"]
        inner = text.replace(node.model, "it").replace("$K", "self.model_kit")
        name = f"extracted_{number}"
        if self.shape.as_function:
            inner = inner.replace("self", "engine")
            self.methods.append(f"def {name}(engine, it):\n    it = {inner}\n    return it\n")
            return [f"{node.model} = {name}(self, {node.model})"]
        self.methods.append(f"    def {name}(self, it):\n        it = {inner}\n        return it\n")
        return [f"{node.model} = self.{name}({node.model})"]


_HEAD = """\
import copy
from functools import partial, reduce

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoModel

from mvp_engine.engine import Engine
from mvp_engine.kit import MLLMModelKit, OptimKit, TokenNormedLossKit


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(8, 8)


def put_tower_in(model):
    model.model.visual = Tower()


def leave_it(model):
    return model


def in_float32(model):
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    return model


def keep_optimizer(model, engine):
    engine.optimizer_ = engine.optim_kit.build_optimizer(model)
    return model


def even(model):
    return odd(model)


def odd(model):
    return even(model) if model else in_float32(model)


class RandomEngine(Engine):
    def __init__(self, config):
        super().__init__(config)
        self.model_kit = MLLMModelKit()
        self.optim_kit = OptimKit()

    def _freeze(self, it):
        return self.model_kit.apply_freeze_policy(it, freeze_llm=True)

    def _pair(self, it):
        return it, it

    def _again(self, it):
        return self._again(DDP(it))

"""

_START = (
    "$K = self.model_kit",
    "$C = self.config.model",
    "$X = $C.x.enabled",
    "$A = $K.build_model($C.path)",
    "$B = $K.build_model($C.teacher)",
)


def render(body: tuple[Node, ...], shape: Shape | None = None) -> str:
    """The engine file of a body."""
    shape = shape or Shape()
    renderer = Renderer(shape)
    lines = list(renderer.lines(body, 2))
    hook = ["    def prepare_model(self):", *(f"        {text}" for text in _START), *lines, "        return $A"]
    text = _HEAD + "\n".join(hook) + "\n\n" + ("\n" if shape.as_function else "") + "\n".join(renderer.methods)
    return _PLACEHOLDER.sub(lambda match: shape.names[match[1]], text)


def count_steps(body: tuple[Node, ...]) -> int:
    """How many ``Do`` a body has."""
    renderer = Renderer(Shape())
    for _ in renderer.lines(body, 0):
        pass
    return renderer.count


def extracting(numbers: frozenset[int], as_function: bool) -> Shape:
    """A shape in which the steps with these numbers stand in methods, or in functions."""
    return replace(Shape(), extract=numbers, as_function=as_function)


@contextmanager
def project(files: Mapping[str, str]) -> Iterator[Path]:
    """A project of its own with these files, gone afterwards."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        (root / ".git").mkdir()
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        yield root
