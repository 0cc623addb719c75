from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recipe_lint.config.load import Resolver
from recipe_lint.config.settings import CliOverrides
from recipe_lint.discover.walk import FoundFile, find_python_files, project_root
from recipe_lint.errors import UsageError


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / ".git").mkdir()
    monkeypatch.chdir(root)
    return root


def touch(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def found(root: Path, *paths: Path | str, force_exclude: bool = False, cli: CliOverrides | None = None) -> list[str]:
    walk = find_python_files(paths or (root,), Resolver(overrides=cli), force_exclude=force_exclude)
    assert walk.problems == ()
    return [file.path.relative_to(root).as_posix() for file in walk.files]


def test_python_files_sorted_and_absolute(tree: Path) -> None:
    touch(tree, "b.py", "a/z.py", "a/b.txt", "a/c.pyi", "a/stage.yaml", "é ü/x y.py")
    assert found(tree) == ["a/z.py", "b.py", "é ü/x y.py"]
    relative = find_python_files([Path(), "a"], Resolver())
    assert relative == find_python_files([tree], Resolver())
    assert all(file.path.is_absolute() and not file.explicit and file.kind == "python" for file in relative.files)


def test_names_that_are_not_text(tree: Path) -> None:
    name = os.fsdecode(b"r\xff.py")
    (tree / name).touch()
    (tree / os.fsdecode(b"g\xfe.py")).touch()
    (tree / ".gitignore").write_bytes(b"g\xfe.py\n")
    assert found(tree) == [name]
    assert found(tree, name) == [name]


def test_named_files(tree: Path) -> None:
    touch(tree, "a/x.py", "a/stage.yaml", "a/B.YML", "script")
    walk = find_python_files(["script", "a/stage.yaml", "a/B.YML", "a/x.py", "a"], Resolver())
    assert walk.files == (
        FoundFile(tree / "a/B.YML", True, "yaml"),
        FoundFile(tree / "a/stage.yaml", True, "yaml"),
        FoundFile(tree / "a/x.py", True),
        FoundFile(tree / "script", True),
    )


def test_overlapping_paths_give_each_file_once_in_any_order(tree: Path) -> None:
    touch(tree, "a/b/x.py", "a/y.py", "z.py")
    paths = ["a/b", "a", ".", "a/b/x.py", "a/../z.py", str(tree / "a" / "y.py")]
    expected = find_python_files(paths, Resolver())
    assert [file.explicit for file in expected.files] == [True, True, True]
    shuffler = random.Random(0)
    for _ in range(5):
        shuffler.shuffle(paths)
        assert find_python_files(paths, Resolver()) == expected


@pytest.mark.parametrize("name", ["gone", "gone/x.py", "", "a\0b", "x" * 5000])
def test_missing_path(tree: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"^no such file or folder: ") as caught:
        find_python_files([tree, name], Resolver())
    assert str(caught.value) == f"no such file or folder: {name}"


def test_links_that_lead_nowhere_or_round(tree: Path) -> None:
    touch(tree, "a/x.py")
    (tree / "a" / "up").symlink_to("..")
    (tree / "a" / "self").symlink_to("self")
    (tree / "a" / "gone.py").symlink_to("nowhere")
    (tree / "b").symlink_to("a")
    assert found(tree) == ["a/x.py"]
    with pytest.raises(UsageError, match="no such file or folder"):
        find_python_files(["a/self"], Resolver())


def test_links_out_of_the_named_folder_are_not_followed(tree: Path, tmp_path: Path) -> None:
    touch(tmp_path, "outside/secret.py", "project-2/secret.py")
    touch(tree, "in/x.py")
    (tree / "out").symlink_to(tmp_path / "outside")
    (tree / "sibling").symlink_to(tmp_path / "project-2")
    (tree / "out.py").symlink_to(tmp_path / "outside" / "secret.py")
    (tree / "in" / "parent").symlink_to(tree)
    assert found(tree) == ["in/x.py"]
    assert found(tree, "in") == ["in/x.py"]
    assert found(tree, "out", "out.py") == ["out.py"]


def test_link_inside_the_folder_is_followed_where_the_real_path_is_not_read(tree: Path) -> None:
    touch(tree, "build/gen/x.py", "a/y.py")
    (tree / "gen").symlink_to("build/gen")
    (tree / "alias.py").symlink_to("a/y.py")
    assert found(tree) == ["a/y.py", "gen/x.py"]


def test_a_named_link_keeps_its_path(tree: Path, tmp_path: Path) -> None:
    touch(tmp_path, "outside/x.py")
    (tree / "link").symlink_to(tmp_path / "outside")
    assert found(tree, "link") == ["link/x.py"]
    assert found(tree, "link/x.py") == ["link/x.py"]


def test_folder_named_like_a_file(tree: Path) -> None:
    touch(tree, "x.py/y.py", "x.py/note.txt")
    assert found(tree) == ["x.py/y.py"]
    assert found(tree, "x.py") == ["x.py/y.py"]


def test_pipes_are_not_read(tree: Path) -> None:
    os.mkfifo(tree / "pipe.py")
    os.mkfifo(tree / ".gitignore")
    touch(tree, "x.py")
    assert found(tree) == ["x.py"]


def test_unreadable_folder_is_a_problem(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tree, "a/x.py", "locked/y.py", "z.py")
    scandir: Callable[[str], Any] = os.scandir

    def refuse(path: str) -> Iterator[os.DirEntry[str]]:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    walk = find_python_files([tree, tree / "locked"], Resolver())
    assert [file.path.name for file in walk.files] == ["x.py", "z.py"]
    (problem,) = walk.problems
    assert (problem.kind, problem.display, problem.line) == ("unreadable-file", "locked", 1)
    assert "permission denied" in problem.message


def test_default_and_configured_excludes(tree: Path) -> None:
    touch(tree, ".venv/a.py", "x/node_modules/b.py", "x/build/c.py", "x/gen/d.py", "old/e.py", "x/old/f.py", "g_gen.py")
    assert found(tree) == ["g_gen.py", "old/e.py", "x/gen/d.py", "x/old/f.py"]
    (tree / "recipe-lint.toml").write_text('extend-exclude = ["/old", "gen/", "*_gen.py"]')
    assert found(tree) == ["x/old/f.py"]
    (tree / "recipe-lint.toml").write_text('exclude = ["x/*", "!x/build", ".venv"]')
    assert found(tree) == ["g_gen.py", "old/e.py", "x/build/c.py"]


def test_excludes_hang_on_the_folder_of_their_file(tree: Path) -> None:
    touch(tree, "a/gen/x.py", "b/gen/x.py", "a/b/gen/x.py")
    (tree / "a" / "recipe-lint.toml").write_text('exclude = ["/gen", "../b"]')
    assert found(tree) == ["a/b/gen/x.py", "b/gen/x.py"]
    assert found(tree, "a", cli=CliOverrides(extend_exclude=("a/b/*",))) == []


def test_named_files_pass_excludes_unless_forced(tree: Path) -> None:
    touch(tree, "build/lib/x.py", "a/y.py")
    (tree / "recipe-lint.toml").write_text('extend-exclude = ["a/*.py"]')
    assert found(tree, "build/lib/x.py", "a/y.py") == ["a/y.py", "build/lib/x.py"]
    assert found(tree, "build") == ["build/lib/x.py"]
    assert found(tree, "build/lib/x.py", "a/y.py", "build", force_exclude=True) == []
    assert found(tree, ".", force_exclude=True) == []


def test_project_inside_a_folder_with_an_excluded_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "build" / "project"
    touch(root, "pyproject.toml", "x.py")
    monkeypatch.chdir(root)
    assert found(root) == ["x.py"]
    assert found(root, "x.py", force_exclude=True) == ["x.py"]


def test_gitignore_nesting_and_negation(tree: Path) -> None:
    (tree / ".gitignore").write_bytes(
        b"\xef\xbb\xbf# made\r\n*_gen.py\r\n/out/\r\nkeep/*\n!keep/y.py\nlost/\n!lost/y.py\n!\n[\n"
    )
    touch(tree, "a_gen.py", "out/x.py", "sub/out/x.py", "keep/x.py", "keep/y.py", "lost/y.py", "sub/b_gen.py")
    touch(tree, "sub/deep/c_gen.py", "sub/deep/x.py")
    (tree / "sub" / ".gitignore").write_text("!b_gen.py\nx.py\n")
    (tree / "sub" / "deep" / ".gitignore").write_text("!x.py\n")
    expected = ["keep/y.py", "sub/b_gen.py", "sub/deep/x.py"]
    assert found(tree) == expected
    assert found(tree, "sub") == expected[1:]
    assert found(tree, "sub/deep") == ["sub/deep/x.py"]
    assert len(found(tree, cli=CliOverrides(respect_gitignore=False))) == 9


def test_negated_folder_does_not_take_its_files_back(tree: Path) -> None:
    (tree / ".gitignore").write_text("*_gen.py\n!a/\nb/**\n")
    touch(tree, "a/x_gen.py", "a/y.py", "b/x.py")
    (tree / "b" / ".gitignore").write_text("!x.py\n")
    assert found(tree) == ["a/y.py", "b/x.py"]


def test_odd_patterns_warn_of_nothing(tree: Path, recwarn: pytest.WarningsRecorder) -> None:
    (tree / ".gitignore").write_text("x[[]1.py\n\\\n(?P<a>\n")
    touch(tree, "x[1.py", "y.py")
    assert found(tree) == ["y.py"]
    assert not recwarn.list


def test_named_ignored_folder_is_read(tree: Path) -> None:
    (tree / ".gitignore").write_text("out/\n*_gen.py\n")
    touch(tree, "out/x.py", "out/x_gen.py", "out/in/y.py")
    assert found(tree) == []
    assert found(tree, "out") == ["out/in/y.py", "out/x.py"]
    assert found(tree, "out/x_gen.py") == ["out/x_gen.py"]


def test_info_exclude_and_worktrees(tree: Path, tmp_path: Path) -> None:
    touch(tree, "x.py", "y.py", ".git/info/exclude", ".git/worktrees/w/commondir")
    (tree / ".git" / "info" / "exclude").write_text("x.py\n")
    (tree / ".git" / "worktrees" / "w" / "commondir").write_text("../..\n")
    assert found(tree) == ["y.py"]
    other = tmp_path / "worktree"
    touch(other, "x.py", "y.py")
    (other / ".git").write_text(f"gitdir: {tree / '.git' / 'worktrees' / 'w'}\n")
    assert found(other, other) == ["y.py"]


def test_gitignore_stops_at_the_repository(tree: Path, tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.py\n")
    touch(tree, "x.py", "inner/.git/HEAD", "inner/y_gen.py")
    (tree / ".gitignore").write_text("*_gen.py\n")
    assert found(tree) == ["inner/y_gen.py", "x.py"]


def test_deep_tree(tree: Path) -> None:
    here = tree
    for _ in range(300):
        here /= "d"
    touch(here, "x.py")
    assert len(found(tree)) == 1


def test_project_root(tmp_path: Path) -> None:
    touch(tmp_path, "a/b/c/x.py", "a/recipe-lint.toml")
    assert project_root(tmp_path / "a" / "b" / "c" / "x.py") == tmp_path / "a"
    assert project_root(tmp_path / "a") == tmp_path / "a"
    (tmp_path / "a" / "b" / ".git").mkdir()
    assert project_root(tmp_path / "a" / "b" / "c") == tmp_path / "a" / "b"
    touch(tmp_path, "a/b/c/pyproject.toml")
    assert project_root(tmp_path / "a" / "b" / "c" / "x.py") == tmp_path / "a" / "b" / "c"
