"""Patches that a later replacement throws away."""

from __future__ import annotations

from collections.abc import Iterator

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Draft, Rule, Subject
from recipe_lint.trace.events import Event

from ..samples import engine, script
from .edge import diverge, nested, related_sites


class PatchLost(Rule):
    """A patch is thrown away, because the module that it patched is replaced afterwards.

    ## What it does
    Reports a patch of something below a module, such as `visual.patch_embed.forward`, where a later patch replaces
    that module or one above it.

    ## Why it is bad
    The new module does not have the patch. Training runs without it on every backend, and no error says so.

    ## Known limits
    Paths are compared as they are written: a module that is reached by another name is not recognised. Patches whose
    source is not in the project are not looked into. A new module that carries the patch already makes the first one
    needless, and is reported all the same.

    ## Example
    ```python
    def matmul_forward(pixel_values):
        ...

    def embed_by_matmul(model):
        model.visual.patch_embed.forward = matmul_forward
        return model

    def swap_tower(model):
        model.visual = AutoModelForImageTextToText.from_pretrained("tower")
        return model

    model = self.model_kit.apply_model_patches(model, [embed_by_matmul, swap_tower])
    ```

    ## Use instead
    ```python
    def matmul_forward(pixel_values):
        ...

    def embed_by_matmul(model):
        model.visual.patch_embed.forward = matmul_forward
        return model

    def swap_tower(model):
        model.visual = AutoModelForImageTextToText.from_pretrained("tower")
        return model

    model = self.model_kit.apply_model_patches(model, [swap_tower, embed_by_matmul])
    ```

    ## Fix safety
    Shown only: the patch begins to work, and the losses change. Move it below the replacement, in the patch list too,
    or drop it.

    ## Source
    Seen in a public video recipe that patches the patch embedding and replaces the whole tower on the next line. The
    PyTorch documentation of `torch.nn.Module`: an attribute that is assigned takes the place of the module.
    """

    code = "RL117"
    name = "patch-lost"
    severity = Severity.error
    bad = (
        engine(
            "model = self.model_kit.apply_model_patches(model, [embed_by_matmul, swap_tower])  # expect: RL117",
            above="""
            def matmul_forward(pixel_values):
                ...


            def embed_by_matmul(model):
                model.visual.patch_embed.forward = matmul_forward
                return model


            def swap_tower(model):
                model.visual = AutoModelForImageTextToText.from_pretrained("tower")
                return model
            """,
        ),
        script(
            """
            def matmul_forward(pixel_values):
                ...


            def setup(cfg):
                model = AutoModelForImageTextToText.from_pretrained(cfg.path)
                model.visual.patch_embed.forward = matmul_forward  # expect: RL117
                model.visual = AutoModelForImageTextToText.from_pretrained(cfg.tower)
                return model
            """
        ),
    )
    good = (
        engine(
            "model = self.model_kit.apply_model_patches(model, [swap_tower, embed_by_matmul])",
            above="""
            def matmul_forward(pixel_values):
                ...


            def embed_by_matmul(model):
                model.visual.patch_embed.forward = matmul_forward
                return model


            def swap_tower(model):
                model.visual = AutoModelForImageTextToText.from_pretrained("tower")
                return model
            """,
        ),
        # What is replaced is another part.
        script(
            """
            def matmul_forward(pixel_values):
                ...


            def setup(cfg):
                model = AutoModelForImageTextToText.from_pretrained(cfg.path)
                model.visual.patch_embed.forward = matmul_forward
                model.visual.merger = torch.nn.Linear(cfg.width, cfg.width)
                return model
            """
        ),
        # One or the other, never both.
        script(
            """
            def matmul_forward(pixel_values):
                ...


            def setup(cfg):
                model = AutoModelForImageTextToText.from_pretrained(cfg.path)
                if cfg.own_tower:
                    model.visual = AutoModelForImageTextToText.from_pretrained(cfg.tower)
                else:
                    model.visual.patch_embed.forward = matmul_forward
                return model
            """
        ),
    )

    def check(self, subject: Subject) -> Iterator[Draft]:
        """A method replaced below a path, then the module at that path replaced."""
        patches = list(subject.trace.of("patch", "token_loss"))
        patches.sort(key=lambda event: event.index)
        for late in patches:
            for early in patches:
                if early.index >= late.index or early.object != late.object or _one_step(early, late):
                    continue
                lost = _lost(early, late)
                guard = early.guard & late.guard
                if lost is None or guard.impossible:
                    continue
                site, other = diverge(early, late)
                what = ".".join(lost[0])
                yield Draft(
                    self.code,
                    self.name,
                    self.severity,
                    site,
                    f"the patch of {what} is lost: {'.'.join(lost[1])} is replaced afterwards",
                    f"patches {what}",
                    "The new module does not have the patch: training runs without it, and no error says so.",
                    f"patch after the replacement (line {other.span.line}), or drop the patch",
                    guard,
                    early.may or late.may,
                    (),
                    related_sites(site, other, early, late, "the replacement"),
                    None,
                    None,
                    (),
                    (site,),
                )
                break


def _one_step(early: Event, late: Event) -> bool:
    """Whether one patch happens inside the other; two patches of one list are two steps of one call."""
    return early.site != late.site and nested(early, late)


def _lost(early: Event, late: Event) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The patched path and the later replaced path above it, if there are such."""
    first, second = early.trait("paths"), late.trait("paths")
    if not isinstance(first, tuple) or not isinstance(second, tuple):
        return None
    for patched, _ in first:
        for replaced, effect in second:
            above = len(replaced) < len(patched) and patched[: len(replaced)] == replaced
            if above and effect in ("structural", "unknown"):
                return patched, replaced
    return None
