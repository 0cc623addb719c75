"""Order of patches where it is a convention."""

from __future__ import annotations

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Subject
from recipe_lint.trace.events import Event

from ..samples import engine
from .patching import PatchRule
from .relations import (
    replaces_top_forward,
)


class PatchAfterUpcast(PatchRule):
    """A recipe patch runs after parameters were cast to float32.

    ## What it does
    Reports a patch that puts new modules into the model, or may do so, after the upcast.

    ## Why it is bad
    The parameters that the patch adds keep the dtype they were created with. That is float32 unless the recipe says
    otherwise, and then it is harmless; under a bfloat16 default they train in bfloat16. The backend makes no
    difference.

    ## Known limits
    The dtype of the new modules is not looked at. Patches that replace methods are not reported.

    ## Example
    ```python
    for parameter in model.parameters():
        parameter.data = parameter.data.float()
    model.visual.merger = torch.nn.Linear(64, 32)
    ```

    ## Use instead
    ```python
    model.visual.merger = torch.nn.Linear(64, 32)
    for parameter in model.parameters():
        parameter.data = parameter.data.float()
    ```

    ## Fix safety
    Shown only: the new parameters may change their dtype. Move the patch above the upcast.

    ## Source
    The kit's contract: patch, freeze, upcast. Measured with torch 2.13: a module that is swapped in is float32 by
    default.
    """

    code = "RL129"
    name = "patch-after-upcast"
    severity = Severity.info
    bad = (
        engine(
            """
            for parameter in model.parameters():
                parameter.data = parameter.data.float()
            model.visual.merger = torch.nn.Linear(64, 32)  # expect: RL129
            """
        ),
    )
    good = (
        engine(
            """
            model.visual.merger = torch.nn.Linear(64, 32)
            for parameter in model.parameters():
                parameter.data = parameter.data.float()
            """
        ),
        # A replaced forward brings no parameter.
        engine(
            """
            for parameter in model.parameters():
                parameter.data = parameter.data.float()
            model.visual.forward = packed_visual_forward
            """,
            above="""
            def packed_visual_forward(pixel_values, grid_thw):
                ...
            """,
        ),
    )

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:  # noqa: ARG002
        """Only new modules bring parameters."""
        return late.trait("effect") in ("structural", "unknown")


class PatchAfterTokenLoss(PatchRule):
    """A recipe patch runs after the token-loss patch.

    ## What it does
    Reports a recipe patch that replaces the forward of the whole model, puts in modules, or may do either, after the
    token-loss patch.

    ## Why it is bad
    A new `forward` of the model takes the place of the one that computes the token loss, and the model's own loss is
    back. A patch deeper in the model is harmless here. The backend makes no difference.

    ## Known limits
    A patch that wraps the forward it finds keeps the token loss; the rule reports it all the same. Patches below the
    model's own forward are not reported.

    ## Example
    ```python
    def packed_forward(input_ids, **inputs):
        ...

    model = self.loss_kit.apply_chunked_token_loss_patch(model)
    model.forward = packed_forward
    ```

    ## Use instead
    ```python
    def packed_forward(input_ids, **inputs):
        ...

    model.forward = packed_forward
    model = self.loss_kit.apply_chunked_token_loss_patch(model)
    ```

    ## Fix safety
    Shown only: the loss may change. Move the patch above the token-loss patch.

    ## Source
    The kit's contract: recipe patches first, token loss second.
    """

    code = "RL130"
    name = "patch-after-token-loss"
    severity = Severity.info
    bad = (
        engine(
            """
            model = self.loss_kit.apply_chunked_token_loss_patch(model)
            model.forward = packed_forward  # expect: RL130
            """,
            above="""
            def packed_forward(input_ids, **inputs):
                ...
            """,
        ),
    )
    good = (
        engine(
            """
            model.forward = packed_forward
            model = self.loss_kit.apply_chunked_token_loss_patch(model)
            """,
            above="""
            def packed_forward(input_ids, **inputs):
                ...
            """,
        ),
        # The patch stays below the model's own forward.
        engine(
            """
            model = self.loss_kit.apply_chunked_token_loss_patch(model)
            model.visual.forward = packed_visual_forward
            """,
            above="""
            def packed_visual_forward(pixel_values, grid_thw):
                ...
            """,
        ),
    )

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:  # noqa: ARG002
        """Only what may take the place of the model's forward."""
        return late.trait("effect") in ("unknown", "structural") or replaces_top_forward(late)
