"""Family RL0: what the tool says of files and suppressions; the engine reports these, no trace is needed."""

from __future__ import annotations

from collections.abc import Iterator

from recipe_lint.lint.finding import Severity
from recipe_lint.lint.rule import Draft, Rule, Subject

from .samples import script


class OwnRule(Rule):
    """Base of the rules that the engine itself reports while it reads files and comments."""

    def check(self, subject: Subject) -> Iterator[Draft]:  # noqa: ARG002
        """No trace shows these faults: they are found before there is one."""
        return iter(())


class SyntaxFault(OwnRule):
    """A file cannot be parsed.

    ## What it does
    Reports a Python or YAML file with a syntax error, at the place where the parser gave up.

    ## Why it is bad
    Nothing in the file is judged, and calls into it from other files stay unresolved. The recipe cannot run either. No
    backend takes part.

    ## Known limits
    The grammar is the one of the Python that runs the linter: newer syntax than its own is an error to it. A file
    reports its first error only. A file that mentions no step of the protocol is not parsed, and so not reported,
    unless it is named on the command line.

    ## Example
    ```python
    def setup(kit, cfg):
        model = kit.build_model(cfg.path
        return model
    ```

    ## Use instead
    ```python
    def setup(kit, cfg):
        model = kit.build_model(cfg.path)
        return model
    ```

    ## Fix safety
    Shown only: the parser cannot know what was meant. Correct the line, or exclude the file.

    ## Source
    The Python language reference and the YAML 1.1 specification, as the parsers implement them.
    """

    code = "RL001"
    name = "syntax-error"
    severity = Severity.error
    bad = (
        # The bracket is never closed.
        script(
            """
            def setup(kit, cfg):
                model = kit.build_model(cfg.path  # expect: RL001
                return model
            """
        ),
    )
    good = (
        script(
            """
            def setup(kit, cfg):
                model = kit.build_model(cfg.path)
                return model
            """
        ),
        # Not every text that fails to parse is code.
        script(
            '''
            USAGE = """
            def setup(kit, cfg:
                return kit.build_model(
            """
            '''
        ),
    )


class UnreadableFile(OwnRule):
    """A file cannot be read.

    ## What it does
    Reports a file that cannot be opened, is no regular file, is over 16 MiB, or is not in the encoding that it
    declares.

    ## Why it is bad
    Nothing in the file is judged, so a clean result would say too much. No backend takes part.

    ## Known limits
    A file in the wrong encoding that decodes by chance is read with the wrong characters, which changes comments and
    texts at most. A file that mentions no step of the protocol is not decoded unless it is named on the command line.

    ## Example
    ```python
    # -*- coding: utf-9 -*-
    def setup(kit, cfg):
        return kit.build_model(cfg.path)
    ```

    ## Use instead
    ```python
    # -*- coding: utf-8 -*-
    def setup(kit, cfg):
        return kit.build_model(cfg.path)
    ```

    ## Fix safety
    Shown only: bytes cannot be guessed. Save the file as UTF-8, correct its permissions, or exclude it.

    ## Source
    The Python language reference on encoding declarations.
    """

    code = "RL002"
    name = "unreadable-file"
    severity = Severity.error
    bad = (
        script(
            """
            # -*- coding: utf-9 -*-  # expect: RL002
            def setup(kit, cfg):
                return kit.build_model(cfg.path)
            """
        ),
    )
    good = (
        script(
            """
            # -*- coding: utf-8 -*-
            def setup(kit, cfg):
                return kit.build_model(cfg.path)
            """
        ),
        # Another encoding is fine where it is declared.
        script(
            """
            # -*- coding: latin-1 -*-
            def setup(kit, cfg):
                return kit.build_model(cfg.path)
            """
        ),
    )


class SuppressionWithoutReason(OwnRule):
    """A suppression gives no reason.

    ## What it does
    Reports `# recipe-lint: ignore[...]` and `# recipe-lint: ignore-file[...]` with nothing behind the bracket. Such a
    suppression has no effect: the finding is still reported.

    ## Why it is bad
    A reviewer cannot tell a considered exception from a silenced fault. No backend takes part.

    ## Known limits
    Any text counts as a reason; whether it is a good one is left to the reader.

    ## Example
    ```python
    def setup(cfg):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        model.compile()  # recipe-lint: ignore[RL126]
        return model, optimizer
    ```

    ## Use instead
    ```python
    def setup(cfg):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        model.compile()  # recipe-lint: ignore[RL126] the sweep hands in a finished optimizer
        return model, optimizer
    ```

    ## Fix safety
    Shown only: the reason has to be written by somebody who knows it. Put it behind the bracket.

    ## Source
    The convention of this linter: every exception is written down where it is made.
    """

    code = "RL003"
    name = "suppression-without-reason"
    severity = Severity.warning
    bad = (
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                model.compile()  # recipe-lint: ignore[RL126]  # expect: RL003
                return model, optimizer
            """
        ),
    )
    good = (
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                model.compile()  # recipe-lint: ignore[RL126] the sweep hands in a finished optimizer
                return model, optimizer
            """
        ),
        # The suppression stands on the line above.
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                # recipe-lint: ignore[RL126] the sweep hands in a finished optimizer
                model.compile()
                return model, optimizer
            """
        ),
    )


class UnusedSuppression(OwnRule):
    """A suppression suppresses nothing.

    ## What it does
    Reports a suppression of a rule that finds nothing at its place, in a file that was judged.

    ## Why it is bad
    It reads as if there were a fault, and it would hide the next one that comes to that line. No backend takes part.

    ## Known limits
    Only rules that ran are counted: a suppression of a rule that is switched off is left alone. So is one in a file
    that no engine or set-up function reaches.

    ## Example
    ```python
    def setup(cfg):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        model.compile()  # recipe-lint: ignore[RL126] the optimizer came first once
        optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
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
    Shown only: removing the comment is safe, but its text may be worth keeping. Delete the code or the whole comment.

    ## Source
    The convention of this linter; the unused suppressions of other linters work alike.
    """

    code = "RL004"
    name = "unused-suppression"
    severity = Severity.warning
    bad = (
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                model.compile()  # recipe-lint: ignore[RL126] the optimizer came first once  # expect: RL004
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
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
        # There is something to suppress.
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                model.compile()  # recipe-lint: ignore[RL126] the sweep hands in a finished optimizer
                return model, optimizer
            """
        ),
    )


class UnknownCode(OwnRule):
    """A suppression names a rule that does not exist.

    ## What it does
    Reports a code or name in a suppression that no rule has, and a suppression that names no rule at all.

    ## Why it is bad
    It suppresses nothing: the finding that it was written for is still reported. No backend takes part.

    ## Known limits
    A code that exists but is the wrong one cannot be told from a right one; that is an unused suppression.

    ## Example
    ```python
    def setup(cfg):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        model.compile()  # recipe-lint: ignore[RL1026] the sweep hands in an optimizer
        return model, optimizer
    ```

    ## Use instead
    ```python
    def setup(cfg):
        model = AutoModelForCausalLM.from_pretrained(cfg.path)
        optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        model.compile()  # recipe-lint: ignore[RL126] the sweep hands in an optimizer
        return model, optimizer
    ```

    ## Fix safety
    Shown only: the rule that was meant is not known. `recipe-lint rules` lists the codes and names.

    ## Source
    The convention of this linter.
    """

    code = "RL005"
    name = "unknown-code"
    severity = Severity.warning
    bad = (
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                model.compile()  # recipe-lint: ignore[RL1026] the sweep hands in an optimizer  # expect: RL005
                return model, optimizer
            """
        ),
    )
    good = (
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                model.compile()  # recipe-lint: ignore[RL126] the sweep hands in an optimizer
                return model, optimizer
            """
        ),
        # A rule's name serves as well as its code.
        script(
            """
            def setup(cfg):
                model = AutoModelForCausalLM.from_pretrained(cfg.path)
                optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
                model.compile()  # recipe-lint: ignore[compile-after-optimizer] the sweep hands in an optimizer
                return model, optimizer
            """
        ),
    )
