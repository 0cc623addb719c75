"""Order of compile."""

from __future__ import annotations

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Subject
from recipe_lint.trace.events import Event

from ..samples import engine, script
from .edge import EdgeRule


class CompileAfterParallelize(EdgeRule):
    """The model is compiled after it was wrapped for distributed training.

    ## What it does
    Reports `apply_model_compile`, `model.compile()` or `torch.compile(model)` that runs after the same model went
    through `parallelize_model`, DDP, FSDP, `fully_shard` or an accelerator's `prepare`.

    ## Why it is bad
    - DDP with a Qwen-style visual tower (error): the kit looks for the tower on the DDP wrapper and does not find it.
      The visual forward is then compiled instead of being kept out of the graph.
    - DDP otherwise, and FSDP1 (warning): the wrapper's hooks are traced into the graph, which costs graph breaks.
    - FSDP2 (warning): measured harmless for an in-place compile, with the same losses, 20 graphs and 23 breaks in
      either order. Here it is the protocol's convention and nothing more.

    ## Known limits
    accelerate (DDP and FSDP1), Lightning Fabric and NeMo Automodel compile last on purpose. A comment above the call
    that says why compile stands after the wrapping makes the finding a note; the severity can be set for each backend.
    Any recipe on the multimodal kit counts as one with a Qwen-style tower, although the rule never sees the model
    itself.

    ## Example
    ```python
    model = parallelize_model(model, parallel_mesh=self.parallel_mesh)
    model = self.model_kit.apply_model_compile(model, backend="inductor")
    ```

    ## Use instead
    ```python
    model = self.model_kit.apply_model_compile(model, backend="inductor")
    model = parallelize_model(model, parallel_mesh=self.parallel_mesh)
    ```

    ## Fix safety
    Shown only: the graph, and so the numerics of a compiled run, may change. Move the compile call, with the `if` that
    gates it, above the wrapping.

    ## Source
    Measured with torch 2.13 and transformers 5.24 on a tiny Qwen3-VL: compile after parallelize under DDP and FSDP2.
    Reports: PrimeIntellect-ai/prime-rl#923, pytorch/torchtitan#472.
    """

    code = "RL101"
    name = "compile-after-parallelize"
    severity = Severity.warning
    bad = (
        engine(
            """
            model = parallelize_model(model, parallel_mesh=self.parallel_mesh)
            model = self.model_kit.apply_model_compile(model, backend="inductor")  # expect: RL101
            """,
            shard=1,
        ),
        engine(
            """
            model = parallelize_model(model, parallel_mesh=self.parallel_mesh)
            if self.config.model.compile.enabled:
                model.compile()  # expect: RL101
            """,
            shard=8,
        ),
    )
    good = (
        engine(
            """
            model = self.model_kit.apply_model_compile(model, backend="inductor")
            model = parallelize_model(model, parallel_mesh=self.parallel_mesh)
            """,
            shard=1,
        ),
        # A teacher that is never wrapped.
        engine(
            """
            teacher = copy.deepcopy(model)
            model = parallelize_model(model, parallel_mesh=self.parallel_mesh)
            teacher.compile()
            self.teacher = teacher
            """
        ),
        # One or the other, never both.
        engine(
            """
            if self.config.parallel.enabled:
                model = parallelize_model(model, parallel_mesh=self.parallel_mesh)
            else:
                model.compile()
            """
        ),
    )

    def traits(self, early: Event, late: Event, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002
        """The kit keeps a Qwen-style visual tower out of the graph only where it finds it."""
        return ("visual",) if late.form == "kit" and subject.trace.family == "mllm" else ()


class CompileAfterOptimizer(EdgeRule):
    """The model is compiled after its optimizer was built.

    ## What it does
    Reports a compile of the model that runs after an optimizer was built over its parameters.

    ## Why it is bad
    It is harmless on every backend: compile keeps the parameter tensors, so the optimizer still holds the right ones.
    The protocol builds the optimizer last, and a recipe that keeps to it is easier to compare with its neighbours.

    ## Known limits
    Trainers that are handed a finished optimizer compile after it on purpose; so does accelerate with FSDP2. Compiling
    a function, a loss or `optimizer.step` is no compile of the model and is not reported.

    ## Example
    ```python
    def setup(cfg):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        model.compile()
        return model, optimizer
    ```

    ## Use instead
    ```python
    def setup(cfg):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        model.compile()
        optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        return model, optimizer
    ```

    ## Fix safety
    Shown only: it changes nothing at run time. Move the compile call above the line that builds the optimizer.

    ## Source
    The kit's contract: compile, wrap, then build the optimizer. The PyTorch documentation of `torch.nn.Module.compile`
    has the module compiled in place, so its parameters stay.
    """

    code = "RL126"
    name = "compile-after-optimizer"
    severity = Severity.info
    bad = (
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                model.compile()  # expect: RL126
                return model, optimizer
            """
        ),
    )
    good = (
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                model.compile()
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                return model, optimizer
            """
        ),
        # What is compiled is a function, not the model.
        script(
            """
            def setup(cfg, loss_fn):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                loss_fn = torch.compile(loss_fn)
                return model, optimizer, loss_fn
            """
        ),
        # Another model, which no optimizer holds.
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                judge = AutoModelForCausalLM.from_pretrained(cfg.judge)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                judge.compile()
                return model, judge, optimizer
            """
        ),
    )
