"""Order of the upcast where it is a convention."""

from __future__ import annotations

from recipe_lint.lint.finding import Severity

from ..samples import engine
from .edge import EdgeRule


class UpcastAfterCheckpointing(EdgeRule):
    """Parameters are cast to float32 after gradient checkpointing was switched on.

    ## What it does
    Reports an upcast of parameters that runs after a checkpointing call on the same model.

    ## Why it is bad
    It is harmless on every backend: checkpointing neither holds nor copies parameters. It is a convention of the
    protocol, which keeps freeze, upcast and counts together.

    ## Known limits
    LLaMA-Factory and axolotl switch checkpointing on first, on purpose.

    ## Example
    ```python
    model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
    for parameter in model.parameters():
        parameter.data = parameter.data.float()
    ```

    ## Use instead
    ```python
    for parameter in model.parameters():
        parameter.data = parameter.data.float()
    model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
    ```

    ## Fix safety
    Shown only: it changes nothing at run time. Move the loop above the checkpointing call.

    ## Source
    The kit's contract: freeze, upcast, checkpoint. The PyTorch documentation of `torch.utils.checkpoint`, which stores
    inputs and recomputes with the parameters of that moment.
    """

    code = "RL116"
    name = "upcast-after-checkpointing"
    severity = Severity.info
    bad = (
        engine(
            """
            model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
            for parameter in model.parameters():  # expect: RL116
                parameter.data = parameter.data.float()
            """
        ),
    )
    good = (
        engine(
            """
            for parameter in model.parameters():
                parameter.data = parameter.data.float()
            model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
            """
        ),
        # Counts read dtypes, they cast nothing.
        engine(
            """
            model = self.model_kit.apply_gradient_checkpointing(model, use_reentrant=False)
            self.float32 = sum(p.numel() for p in model.parameters() if p.dtype == torch.float32)
            """
        ),
    )


class UpcastAfterCompile(EdgeRule):
    """Parameters are cast to float32 after the model was compiled.

    ## What it does
    Reports an upcast of parameters that runs after a compile of the same model.

    ## Why it is bad
    The backend makes no difference. It is harmless while the compiled model has not run: nothing has been traced.
    Where it has run, the new dtype fails a guard and one more graph is compiled.

    ## Known limits
    The rule does not know whether the model has run in between.

    ## Example
    ```python
    model = self.model_kit.apply_model_compile(model, backend="inductor")
    for parameter in model.parameters():
        parameter.data = parameter.data.float()
    ```

    ## Use instead
    ```python
    for parameter in model.parameters():
        parameter.data = parameter.data.float()
    model = self.model_kit.apply_model_compile(model, backend="inductor")
    ```

    ## Fix safety
    Shown only: the compiled graph may change. Move the loop above the compile call.

    ## Source
    The kit's contract: upcast, then compile. The PyTorch documentation of `torch.compile` on guards and recompilation.
    """

    code = "RL128"
    name = "upcast-after-compile"
    severity = Severity.info
    bad = (
        engine(
            """
            model = self.model_kit.apply_model_compile(model, backend="inductor")
            for parameter in model.parameters():  # expect: RL128
                parameter.data = parameter.data.float()
            """
        ),
    )
    good = (
        engine(
            """
            for parameter in model.parameters():
                parameter.data = parameter.data.float()
            model = self.model_kit.apply_model_compile(model, backend="inductor")
            """
        ),
        # The teacher is compiled, the student is cast.
        engine(
            """
            teacher = copy.deepcopy(model)
            teacher.compile()
            for parameter in model.parameters():
                parameter.data = parameter.data.float()
            self.teacher = teacher
            """
        ),
    )
