"""Whether a comment is a written reason for a step that stands in another place than the protocol gives it.

A reason speaks of the placement (after, before, order, on purpose), of the other step, and says why. "Compile the
model" says what the line does; "only the text stack is wrapped, the kit covers too much" speaks of something else.
"""

from __future__ import annotations

import re

_STEP_WORDS = {
    "parallelize": r"parallel\w*|wrap\w*|ddp|fsdp\d?|\w*shard\w*|distribut\w*|accelerat\w*",
    "compile": r"compil\w*|dynamo|graph\w*|inductor",
    "freeze": r"fr[eo]ez\w*|frozen|trainab\w*|requires_grad",
    "optimizer": r"optimi[sz]er\w*|adam\w*",
    "checkpointing": r"checkpoint\w*|recompute\w*|activation\w*",
    "upcast": r"upcast\w*|fp32|float32|master|precision",
    "patch": r"patch\w*|tower|swap\w*|replac\w*",
    "token_loss": r"loss|patch\w*",
    "load": r"load\w*|buil[dt]\w*|init\w*",
    "adapter": r"adapter\w*|lora|peft",
    "tensor_parallel": r"tensor|tp",
    "ema_copy": r"ema|average\w*",
    "kernel_patch": r"kernel\w*|liger|patch\w*",
}
_PLACEMENT = re.compile(
    r"\b(after\w*|before|until|once|first|late[rn]?|earl\w+|order|plac\w+|position|here|ahead|on purpose|"
    r"deliberate\w*|intention\w*|outside|behind|around|on top|already|last)\b",
    re.IGNORECASE,
)
_WHY = re.compile(
    r"\b(because|since|so that|so the|so it|so we|due to|need\w*|require\w*|otherwise|to avoid|to keep|to let|must|"
    r"cannot|can't|can not|only works?|does not|doesn't|fails?|breaks?|crash\w*|workaround|on purpose|deliberate\w*|"
    r"intention\w*|expects?|wants?|as the|as it|for the|hooks? \w+|would|lets?|issue|bug)\b|#\d+",
    re.IGNORECASE,
)
_LEAST_WORDS = 6


def placement_reason(text: str, steps: tuple[str, ...]) -> str | None:
    """``text`` if it gives a reason for standing elsewhere relative to one of ``steps``, else None."""
    prose = " ".join(text.split())
    if not steps or len(prose.split()) < _LEAST_WORDS:
        return None
    named = "|".join(_STEP_WORDS.get(step, re.escape(step)) for step in steps)
    if not re.search(rf"\b({named})\b", prose, re.IGNORECASE):
        return None
    if not _PLACEMENT.search(prose) or not _WHY.search(prose):
        return None
    return prose
