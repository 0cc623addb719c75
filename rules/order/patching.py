"""Order of patches against freeze, checkpointing and compile."""

from __future__ import annotations

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Subject
from recipe_lint.trace.events import Event

from ..samples import engine
from .edge import EdgeRule
from .relations import (
    inside_layers,
    is_harmless_patch,
    rebuilt,
    touches_visual,
)


class PatchRule(EdgeRule):
    """Base of the patch rules: a patch without effect is no step, one whose source is not there may do anything."""

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:  # noqa: ARG002
        """A patch that touches nothing of the model is no step."""
        return late.trait("effect") != ""

    def traits(self, early: Event, late: Event, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002
        """What the patch was seen to do."""
        return ("harmless",) if is_harmless_patch(late) else ()

    def unsure(self, early: Event, late: Event) -> bool:  # noqa: ARG002
        """A patch whose source is not in the project."""
        return late.trait("effect") == "unknown"


class PatchAfterFreeze(PatchRule):
    """A recipe patch runs after the freeze policy.

    ## What it does
    Reports a patch of the model that runs after its freeze. It is an error where the patch puts in new modules, a note
    where it replaces methods only, and one degree lower, with "may", where its source is not in the project.

    ## Why it is bad
    On every backend the new modules come with `requires_grad` set and in float32: 13 trainable tensors became 16. They
    train although the policy says frozen. A patch that replaces a method is harmless here.

    ## Known limits
    A new head on a model that was frozen whole, as in transfer learning, trains as it should and is not reported; nor
    are new modules outside the part that was frozen. What a patch does through a library is unknown. A global patch
    that takes no model is no step, and a freeze that runs again afterwards settles the matter.

    ## Example
    ```python
    def swap_merger(model):
        model.visual.merger = torch.nn.Linear(64, 32)
        return model

    model = self.model_kit.apply_freeze_policy(model, freeze_projector=True)
    model = self.model_kit.apply_model_patches(model, [swap_merger])
    ```

    ## Use instead
    ```python
    def swap_merger(model):
        model.visual.merger = torch.nn.Linear(64, 32)
        return model

    model = self.model_kit.apply_model_patches(model, [swap_merger])
    model = self.model_kit.apply_freeze_policy(model, freeze_projector=True)
    ```

    ## Fix safety
    Shown only: what trains will change. Move the patch above the freeze policy.

    ## Source
    Measured with torch 2.13 and transformers 5.24 on a tiny Qwen3-VL: a module swap after freeze, by trainable names.
    """

    code = "RL108"
    name = "patch-after-freeze"
    severity = Severity.error
    bad = (
        engine(
            """
            model = self.model_kit.apply_freeze_policy(model, freeze_projector=True)
            model = self.model_kit.apply_model_patches(model, [swap_merger])  # expect: RL108
            """,
            above="""
            def swap_merger(model):
                model.visual.merger = torch.nn.Linear(64, 32)
                return model
            """,
        ),
    )
    good = (
        engine(
            """
            model = self.model_kit.apply_model_patches(model, [swap_merger])
            model = self.model_kit.apply_freeze_policy(model, freeze_projector=True)
            """,
            above="""
            def swap_merger(model):
                model.visual.merger = torch.nn.Linear(64, 32)
                return model
            """,
        ),
        # The policy runs again behind the patch.
        engine(
            """
            model = self.model_kit.apply_freeze_policy(model, freeze_projector=True)
            model = self.model_kit.apply_model_patches(model, [swap_merger])
            model = self.model_kit.apply_freeze_policy(model, freeze_projector=True)
            """,
            above="""
            def swap_merger(model):
                model.visual.merger = torch.nn.Linear(64, 32)
                return model
            """,
        ),
        # A global patch takes no model and adds no parameter.
        engine(
            """
            model = self.model_kit.apply_freeze_policy(model, freeze_projector=True)
            apply_packed_attention_patch()
            """,
            above="""
            def apply_packed_attention_patch():
                from transformers import modeling_flash_attention_utils as utils

                utils._flash_attention_forward = torch.nn.functional.scaled_dot_product_attention
            """,
        ),
    )

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not where the freeze runs again afterwards, nor for a new head on a model that is frozen as a whole."""
        if early.trait("covers") == "all" and late.trait("effect") == "structural":
            return False
        return late.trait("effect") != "" and early.trait("kind") != "unfreeze" and not rebuilt(early, late, subject)

    def traits(self, early: Event, late: Event, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002
        """Only new modules bring parameters."""
        return () if late.trait("effect") in ("structural", "unknown") else ("harmless",)


class PatchAfterCheckpointing(PatchRule):
    """A patch runs after gradient checkpointing was switched on.

    ## What it does
    Reports a recipe patch or token-loss patch that runs after a checkpointing call on the same model. It is a note
    where the patch stays outside the repeated layers or replaces no forward.

    ## Why it is bad
    A layer that is replaced, or whose `forward` is, may not be recomputed in backward, while the flag still reads
    True. In transformers 5.3 such layers were recomputed; in 5.24 none of 2 were. The backend makes no difference. A
    token loss on the model's own forward is harmless.

    ## Known limits
    Recomputation can only be seen by counting calls of a block; the rule goes by where the patch reaches. It does not
    know the installed transformers. Recipe builders often put the token loss in last, on purpose.

    ## Example
    ```python
    def packed_forward(hidden_states, **inputs):
        ...

    def pack_layers(model):
        for layer in model.language_model.layers:
            layer.forward = packed_forward
        return model

    model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
    model = self.model_kit.apply_model_patches(model, [pack_layers])
    ```

    ## Use instead
    ```python
    def packed_forward(hidden_states, **inputs):
        ...

    def pack_layers(model):
        for layer in model.language_model.layers:
            layer.forward = packed_forward
        return model

    model = self.model_kit.apply_model_patches(model, [pack_layers])
    model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
    ```

    ## Fix safety
    Shown only: memory and speed change. Move the patch above the checkpointing call.

    ## Source
    Measured with transformers 5.3 and 5.24 on tiny vision-language models: forwards of a block counted in backward.
    """

    code = "RL109"
    name = "patch-after-checkpointing"
    severity = Severity.warning
    bad = (
        engine(
            """
            model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
            model = self.model_kit.apply_model_patches(model, [pack_layers])  # expect: RL109
            """,
            above="""
            def packed_forward(hidden_states, **inputs):
                ...


            def pack_layers(model):
                for layer in model.language_model.layers:
                    layer.forward = packed_forward
                return model
            """,
        ),
        engine(
            """
            model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
            model = self.loss_kit.apply_chunked_token_loss_patch(model)  # expect: RL109
            """
        ),
    )
    good = (
        engine(
            """
            model = self.model_kit.apply_model_patches(model, [pack_layers])
            model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
            """,
            above="""
            def packed_forward(hidden_states, **inputs):
                ...


            def pack_layers(model):
                for layer in model.language_model.layers:
                    layer.forward = packed_forward
                return model
            """,
        ),
        # A helper that sets a flag in the configuration replaces nothing.
        engine(
            """
            disable_cache(model)
            model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
            disable_cache(model)
            """,
            above="""
            def disable_cache(model):
                model.config.use_cache = False
            """,
        ),
    )

    def traits(self, early: Event, late: Event, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002
        """Checkpointing lives in the layers; a forward outside them is not what it recomputes."""
        mild = late.trait("effect") == "forward" and not inside_layers(late)
        return ("harmless",) if is_harmless_patch(late) or mild else ()


class PatchAfterCompile(PatchRule):
    """A patch runs after the model was compiled.

    ## What it does
    Reports a recipe patch or token-loss patch that runs after a compile of the same model. After an in-place compile a
    patch that leaves the visual tower alone is a note.

    ## Why it is bad
    - A replaced `visual.forward` loses the marker that keeps the tower out of the graph: 37 graphs instead of 20.
    - After `torch.compile(model)` the patch lands on the wrapper instead of the model.
    - Otherwise, after an in-place compile, it is harmless, or costs one more graph where the model has run.

    The backend makes no difference.

    ## Known limits
    The tower is known by the name `visual`. The rule does not know whether the compiled model has run.

    ## Example
    ```python
    def packed_visual_forward(pixel_values, grid_thw):
        ...

    def pack_images(model):
        model.visual.forward = packed_visual_forward
        return model

    model = self.model_kit.apply_model_compile(model, backend="inductor")
    model = self.model_kit.apply_model_patches(model, [pack_images])
    ```

    ## Use instead
    ```python
    def packed_visual_forward(pixel_values, grid_thw):
        ...

    def pack_images(model):
        model.visual.forward = packed_visual_forward
        return model

    model = self.model_kit.apply_model_patches(model, [pack_images])
    model = self.model_kit.apply_model_compile(model, backend="inductor")
    ```

    ## Fix safety
    Shown only: the compiled graph changes. Move the patch above the compile call.

    ## Source
    Measured with torch 2.13 and transformers 5.24 on a tiny Qwen3-VL: graphs and breaks counted after each patch.
    """

    code = "RL110"
    name = "patch-after-compile"
    severity = Severity.warning
    bad = (
        engine(
            """
            model = self.model_kit.apply_model_compile(model, backend="inductor")
            model = self.model_kit.apply_model_patches(model, [pack_images])  # expect: RL110
            """,
            above="""
            def packed_visual_forward(pixel_values, grid_thw):
                ...


            def pack_images(model):
                model.visual.forward = packed_visual_forward
                return model
            """,
        ),
        engine(
            """
            model = self.model_kit.apply_model_compile(model, backend="inductor")
            model = self.loss_kit.apply_chunked_token_loss_patch(model)  # expect: RL110
            """
        ),
    )
    good = (
        engine(
            """
            model = self.model_kit.apply_model_patches(model, [pack_images])
            model = self.model_kit.apply_model_compile(model, backend="inductor")
            """,
            above="""
            def packed_visual_forward(pixel_values, grid_thw):
                ...


            def pack_images(model):
                model.visual.forward = packed_visual_forward
                return model
            """,
        ),
        # The teacher is compiled, the student patched.
        engine(
            """
            teacher = copy.deepcopy(model)
            teacher.compile()
            model = self.model_kit.apply_model_patches(model, [pack_images])
            self.teacher = teacher
            """,
            above="""
            def packed_visual_forward(pixel_values, grid_thw):
                ...


            def pack_images(model):
                model.visual.forward = packed_visual_forward
                return model
            """,
        ),
    )

    def traits(self, early: Event, late: Event, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002
        """In-place compile runs later and sees the patch, unless the patch drops the visual tower's graph break."""
        in_place = not early.trait("wraps")
        mild = late.trait("effect") in ("method", "forward") and not touches_visual(late)
        return ("harmless",) if in_place and mild else ()
