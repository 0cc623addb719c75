"""Order of tensor parallelism and EMA copies around the wrapping."""

from __future__ import annotations

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Subject
from recipe_lint.trace.events import Event

from ..samples import script
from .edge import EdgeRule


class TensorParallelAfterFsdp(EdgeRule):
    """Tensor parallelism is applied after the model was sharded.

    ## What it does
    Reports `parallelize_module` or the like that runs after the same model went through FSDP1 or `fully_shard`.

    ## Why it is bad
    Tensor parallelism shards plain parameters. Behind FSDP2 they are DTensors of another mesh: the call raises, or
    shards the wrong dimension. FSDP1 has flattened them, so there is no matrix left to split.

    ## Known limits
    The effect was not measured for this rule. Sharding of one part and tensor parallelism on another part of the same
    model are reported too.

    ## Example
    ```python
    def setup(cfg, mesh, plan):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        fully_shard(model, mesh=mesh["dp"])
        parallelize_module(model, mesh["tp"], plan)
        return model
    ```

    ## Use instead
    ```python
    def setup(cfg, mesh, plan):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        parallelize_module(model, mesh["tp"], plan)
        fully_shard(model, mesh=mesh["dp"])
        return model
    ```

    ## Fix safety
    Shown only: the layout of the weights changes, and with it the checkpoints. Move the call above the first sharding
    call.

    ## Source
    The PyTorch documentation and tutorial on tensor parallelism with FSDP: tensor parallel within a host first, then
    `fully_shard` over the other mesh dimension.
    """

    code = "RL124"
    name = "tensor-parallel-after-fsdp"
    severity = Severity.error
    bad = (
        script(
            """
            def setup(cfg, mesh, plan):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                fully_shard(model, mesh=mesh["dp"])
                parallelize_module(model, mesh["tp"], plan)  # expect: RL124
                return model
            """
        ),
    )
    good = (
        script(
            """
            def setup(cfg, mesh, plan):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                parallelize_module(model, mesh["tp"], plan)
                fully_shard(model, mesh=mesh["dp"])
                return model
            """
        ),
        # Two models, each with one of the two.
        script(
            """
            def setup(cfg, mesh, plan):
                encoder = AutoModelForCausalLM.from_pretrained(cfg.encoder)
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                fully_shard(encoder, mesh=mesh["dp"])
                parallelize_module(model, mesh["tp"], plan)
                return model, encoder
            """
        ),
        # One or the other, never both.
        script(
            """
            def setup(cfg, mesh, plan):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                if cfg.tensor_parallel:
                    parallelize_module(model, mesh["tp"], plan)
                else:
                    fully_shard(model, mesh=mesh["dp"])
                return model
            """
        ),
    )

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:  # noqa: ARG002
        """Only sharding changes the parameters' type."""
        return early.trait("backend") in ("fsdp1", "fsdp2")


class EmaCopyBeforeWrap(EdgeRule):
    """The EMA copy is made before the model is wrapped or compiled.

    ## What it does
    Reports an averaged copy (`AveragedModel`, `ModelEma`, a `deepcopy` kept as `ema`) that is made before the model
    is sharded, or goes through a wrapper or a compile that changes names. The line that makes the copy is flagged.

    ## Why it is bad
    - FSDP1, FSDP2 and a backend that is not known (warning): the model's parameters are sharded, the copy's are plain
      tensors, and an update from one to the other does not fit.
    - DDP and `torch.compile` (note): `module.` or `_orig_mod.` stands in front of every name. An update by name raised
      KeyError, or matched nothing and the copy never moved; one from the module inside the wrapper is right.

    An in-place compile keeps the names and is not reported.

    ## Known limits
    How the copy is updated is not seen: behind DDP an update that reads `model.module`, zips parameters or strips the
    prefix works, and is common. A copy that is wrapped the same way is not reported.

    ## Example
    ```python
    def setup(cfg, mesh):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        ema = copy.deepcopy(model)
        fully_shard(model, mesh=mesh)
        return model, ema
    ```

    ## Use instead
    ```python
    def setup(cfg, mesh):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        fully_shard(model, mesh=mesh)
        ema = copy.deepcopy(model)
        return model, ema
    ```

    ## Fix safety
    Shown only: the copy's state-dict keys change, and with them the checkpoints. Make the copy behind the wrapping, or
    update it from the inner model.

    ## Source
    Measured with torch 2.13 on a tiny Qwen3-VL: an EMA copy before wrap and before compile, by names.
    """

    code = "RL125"
    name = "ema-copy-before-wrap"
    severity = Severity.warning
    bad = (
        script(
            """
            def setup(cfg, mesh):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                ema = copy.deepcopy(model)  # expect: RL125
                fully_shard(model, mesh=mesh)
                return model, ema
            """
        ),
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                ema = copy.deepcopy(model)  # expect: RL125
                model = DistributedDataParallel(model)
                return model, ema
            """
        ),
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                averaged = AveragedModel(model)  # expect: RL125
                model = torch.compile(model)
                return model, averaged
            """
        ),
    )
    good = (
        script(
            """
            def setup(cfg, mesh):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                fully_shard(model, mesh=mesh)
                ema = copy.deepcopy(model)
                return model, ema
            """
        ),
        # The copy is wrapped the same way.
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                ema = copy.deepcopy(model)
                model = torch.compile(model)
                ema = torch.compile(ema)
                return model, ema
            """
        ),
        # An in-place compile keeps the names.
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                ema = copy.deepcopy(model)
                model.compile()
                return model, ema
            """
        ),
    )

    def traits(self, early: Event, late: Event, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002
        """Compile changes names alone."""
        return ("compile",) if late.step == "compile" else ()

    def applies(self, early: Event, late: Event, subject: Subject) -> bool:
        """Not where the copy is wrapped the same way, nor for a compile that keeps names."""
        if late.step == "compile" and not late.trait("wraps"):
            return False
        copy = early.trait("copy")
        return not any(event.object == copy for event in subject.trace.of(late.step))
