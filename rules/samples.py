"""Short ways to write a rule's examples: the imports, and the frame of an engine, around the lines that matter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from inspect import cleandoc
from textwrap import indent

from recipe_lint.lint.rule import Example

STAGE = "configs/stage1.yaml"

_IMPORTS = {
    "copy": "import copy",
    "torch": "import torch",
    "Accelerator": "from accelerate import Accelerator",
    "apply_liger_kernel_to_qwen2_vl": "from liger_kernel.transformers import apply_liger_kernel_to_qwen2_vl",
    "parallelize_model": "from mvp_engine.distributed import parallelize_model",
    "Engine": "from mvp_engine.engine import Engine",
    "LigerKernelKit": "from mvp_engine.kit import LigerKernelKit",
    "MLLMModelKit": "from mvp_engine.kit import MLLMModelKit",
    "OptimKit": "from mvp_engine.kit import OptimKit",
    "TokenNormedLossKit": "from mvp_engine.kit import TokenNormedLossKit",
    "get_peft_model": "from peft import get_peft_model",
    "prepare_model_for_kbit_training": "from peft import prepare_model_for_kbit_training",
    "nn": "from torch import nn",
    "apply_activation_checkpointing": (
        "from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing"
    ),
    "fully_shard": "from torch.distributed.fsdp import fully_shard",
    "FullyShardedDataParallel": "from torch.distributed.fsdp import FullyShardedDataParallel",
    "parallelize_module": "from torch.distributed.tensor.parallel import parallelize_module",
    "DistributedDataParallel": "from torch.nn.parallel import DistributedDataParallel",
    "AveragedModel": "from torch.optim.swa_utils import AveragedModel",
    "AutoModelForCausalLM": "from transformers import AutoModelForCausalLM",
    "AutoModelForImageTextToText": "from transformers import AutoModelForImageTextToText",
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
    code = cleandoc(code)
    words = set(re.findall(r"\w+", code))
    imports = [line for name, line in _IMPORTS.items() if name in words]
    head = "\n".join(imports) + "\n\n\n" if imports else ""
    return Example(f"{head}{code}\n", files or {})


def engine(
    body: str, *, above: str = "", optimizer: str = _OPTIMIZER, hooks: str = "", shard: int | None = None
) -> Example:
    """An engine whose ``prepare_model`` builds the model, runs ``body`` and returns the model.

    ``above`` stands before the class, ``hooks`` are more methods, ``optimizer`` is the body of ``prepare_optimizer``.
    ``shard`` adds a stage with that mesh: 1 is DDP, more is FSDP2.
    """
    body, above, hooks = cleandoc(body), cleandoc(above), cleandoc(hooks)
    model = f"model = self.model_kit.build_model(self.config.model.path)\n{body}\nreturn model"
    methods = [_method("prepare_model", model), _method("prepare_optimizer", cleandoc(optimizer))]
    if hooks:
        methods.append(hooks)
    kits = "\n".join(f"self.{name} = {made}" for name, made in _KITS.items() if f"self.{name}." in "".join(methods))
    start = f"def __init__(self, config):\n    super().__init__(config)\n{indent(kits, '    ')}"
    text = "class Demo(Engine):\n" + indent("\n\n".join((start, *methods)), "    ")
    stage = {STAGE: f"engine: Demo\nparallel:\n  mesh: {{shard: {shard}}}\n"} if shard is not None else None
    return script(f"{above}\n\n\n{text}" if above else text, stage)


def _method(name: str, body: str) -> str:
    return f"def {name}(self):\n{indent(body, '    ')}"
