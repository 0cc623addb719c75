"""Family RL8: the optimizer holds exactly the parameters that train."""

from __future__ import annotations

from collections.abc import Iterator

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Draft, Rule, Subject
from recipe_lint.read.stages import Stage
from recipe_lint.trace.events import Event

from .arguments import argument, plain, stages_of
from .order.relations import overlaps

FLAGS = ("freeze_vit", "freeze_projector", "freeze_llm")


class OptimizerOverFrozen(Rule):
    """The optimizer is given parameters that are frozen."""

    code = "RL801"
    name = "optimizer-over-frozen"
    severity = Severity.warning

    def check(self, subject: Subject) -> Iterator[Draft]:
        """A direct optimizer over all parameters of a model of which a part was frozen before."""
        for event in subject.trace.of("optimizer"):
            if event.trait("holds") == "trainable":
                continue
            for frozen in subject.trace.of("freeze"):
                stages = self._stages(event, frozen, subject)
                if stages is None:
                    continue
                yield Draft(
                    self.code,
                    self.name,
                    self.severity,
                    event.site,
                    "the optimizer is given frozen parameters too",
                    "takes every parameter",
                    "Stock optimizers skip parameters whose gradient stays None; optimizers that do not, ZeRO's "
                    "flattening and a resume after the policy has changed break on them.",
                    "filter on requires_grad, or let OptimKit.build_optimizer do it",
                    event.guard & frozen.guard,
                    event.may or frozen.may or event.trait("holds") == "mixed",
                    stages,
                    ((frozen.site, "frozen here"),),
                    excuses=(event.site,),
                )
                break

    def _stages(self, event: Event, frozen: Event, subject: Subject) -> tuple[str, ...] | None:
        """Stages at which the freeze freezes something; None where it does so at none."""
        before = frozen.index < event.index and frozen.object == event.object
        if not before or frozen.trait("kind") == "unfreeze" or not frozen.guard.meets(event.guard):
            return None
        paths = event.trait("paths")
        if isinstance(paths, tuple) and not any(overlaps(path, frozen.path) for path in paths):
            return None
        both = [stage for stage in stages_of(frozen, subject) if freezes_something(frozen, subject, stage)]
        return tuple(stage.name for stage in both if stage is not None) if both else None


class OptimizerMissesParameters(Rule):
    """Parameters are created after the optimizer was built."""

    code = "RL802"
    name = "optimizer-misses-parameters"
    severity = Severity.error

    def check(self, subject: Subject) -> Iterator[Draft]:
        """``to_empty``, ``to("meta")`` or ``resize_token_embeddings`` on a model that an optimizer already holds."""
        for note in subject.trace.noted("new-parameters"):
            for event in subject.trace.of("optimizer"):
                guard = event.guard & note.guard
                late = event.index < note.index and event.object == note.object and not guard.impossible
                if not late or _built_again(event, note.index, subject):
                    continue
                yield Draft(
                    self.code,
                    self.name,
                    self.severity,
                    note.site,
                    f"{note.traits.get('method')} makes new parameters that the optimizer does not hold",
                    "new parameters come after the optimizer",
                    "The optimizer keeps the old tensors: the new ones never move, and no error is raised.",
                    "build the optimizer afterwards",
                    guard,
                    event.may or note.may,
                    related=((event.site, "the optimizer is built here"),),
                    excuses=(note.site,),
                )
                break


def freezes_something(event: Event, subject: Subject, stage: Stage | None) -> bool:
    """Whether a freeze event freezes anything at a stage: a kit call whose flags are all off does not."""
    if event.form != "kit":
        return True
    values = [plain(argument(event, flag), subject, stage) for flag in FLAGS if argument(event, flag) is not None]
    return any(value is not False for value in values)


def _built_again(event: Event, index: int, subject: Subject) -> bool:
    return any(again.object == event.object and again.index > index for again in subject.trace.of("optimizer"))
