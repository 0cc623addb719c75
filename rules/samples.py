"""Short ways to write a rule's examples: the imports, and the frame of an engine, around the lines that matter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from textwrap import dedent, indent

from recipe_lint.lint.rule import Example

STAGE = "configs/stage1.yaml"

_MODULES = {
    "copy": "",
    "torch": "",
    "accelerate": "Accelerator",
    "liger_kernel.transformers": "apply_liger_kernel_to_qwen2_vl",
    "mvp_engine.distributed": "parallelize_model",
    "mvp_engine.engine": "Engine",
    "mvp_engine.kit": "LigerKernelKit MLLMModelKit OptimKit TokenNormedLossKit",
    "peft": "get_peft_model prepare_model_for_kbit_training",
    "torch.distributed.algorithms._checkpoint.checkpoint_wrapper": "apply_activation_checkpointing",
    "torch.distributed.fsdp": "FullyShardedDataParallel fully_shard",
    "torch.distributed.tensor.parallel": "parallelize_module",
    "torch.nn.parallel": "DistributedDataParallel",
    "torch.optim.swa_utils": "AveragedModel",
    "transformers": "AutoModelForCausalLM AutoModelForImageTextToText",
}
_KITS = {
    "model_kit": "MLLMModelKit()",
    "optim_kit": "OptimKit()",
    "loss_kit": "TokenNormedLossKit()",
    "kernel_kit": "LigerKernelKit()",
}
_OPTIMIZER = "return self.optim_kit.build_optimizer(self.model, lr=self.config.optim.lr)"


def script(code: str, files: Mapping[str, str] | None = None) -> Example:
    """A file of functions and classes; the imports that it needs are put above it."""
    return _file(dedent(code).strip(), files)


def engine(
    body: str, *, above: str = "", optimizer: str = _OPTIMIZER, hooks: str = "", shard: int | None = None
) -> Example:
    """An engine whose ``prepare_model`` builds the model, runs ``body`` and returns the model.

    ``above`` stands before the class, ``hooks`` are more methods, ``optimizer`` is the body of ``prepare_optimizer``.
    ``shard`` adds a stage with that mesh: 1 is DDP, more is FSDP2.
    """
    body, above, hooks = dedent(body).strip(), dedent(above).strip(), dedent(hooks).strip()
    model = f"model = self.model_kit.build_model(self.config.model.path)\n{body}\nreturn model"
    methods = [_method("prepare_model", model), _method("prepare_optimizer", dedent(optimizer).strip())]
    if hooks:
        methods.append(hooks)
    kits = "\n".join(f"self.{name} = {made}" for name, made in _KITS.items() if f"self.{name}." in "".join(methods))
    start = f"def __init__(self, config):\n    super().__init__(config)\n{indent(kits, '    ')}"
    text = "class Demo(Engine):\n" + indent("\n\n".join((start, *methods)), "    ")
    stage = {STAGE: f"engine: Demo\nparallel:\n  mesh: {{shard: {shard}}}\n"} if shard is not None else None
    return _file(f"{above}\n\n\n{text}" if above else text, stage)


def _method(name: str, body: str) -> str:
    return f"def {name}(self):\n{indent(body, '    ')}"


def _file(code: str, files: Mapping[str, str] | None) -> Example:
    words = set(re.findall(r"\w+", code))
    imports = []
    for module, names in _MODULES.items():
        used = [name for name in names.split() if name in words]
        if used:
            imports.append(f"from {module} import {', '.join(used)}")
        elif not names and module in words:
            imports.append(f"import {module}")
    head = "\n".join(imports) + "\n\n\n" if imports else ""
    return Example(f"{head}{code}\n", files or {})
