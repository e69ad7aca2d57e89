"""The app, the options that every command shares, and what a command gets from them."""

from __future__ import annotations

import functools
import inspect
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec

import typer
from typer.core import TyperGroup

from ebbmem import __version__
from ebbmem.cli.output import Output, program
from ebbmem.errors import EbbmemError, StoreReadOnly
from ebbmem.policy import Policy

if TYPE_CHECKING:
    from ebbmem.bank import MemoryBank

__all__ = ["NoMemoryYet", "PolicyName", "Shell", "app", "command", "default_path"]

P = ParamSpec("P")


class NoMemoryYet(EbbmemError):
    """A command that remembers nothing was pointed at a file that is not there."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        super().__init__(f"no memory at {path} yet; `{program()} remember` makes one")


class PolicyName(StrEnum):
    """The policies that have a name."""

    chat = "chat"
    published = "published"


Db = Annotated[
    Path | None,
    typer.Option("--db", help="The file. [env: EBBMEM_DB; default: in the user's data folder]"),
]
NamespaceParts = Annotated[
    list[str] | None,
    typer.Option(
        "--namespace",
        "-n",
        help="Whose memory; repeat for parts: -n alice -n work. "
        "[env: EBBMEM_NAMESPACE=alice/work; default: default]",
    ),
]
EmbedderName = Annotated[
    str | None,
    typer.Option(
        "--embedder", help="auto, local, multilingual, hashing or none. [env: EBBMEM_EMBEDDER]"
    ),
]
PolicyChoice = Annotated[
    PolicyName | None,
    typer.Option("--policy", help="How it forgets. [default: as last opened]"),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


@dataclass(frozen=True, slots=True)
class Options:
    """The shared options as they were given, before or after the command."""

    db: Path | None = None
    namespace: tuple[str, ...] = ()
    embedder: str | None = None
    policy: PolicyName | None = None
    as_json: bool = False

    def or_else(self, before: Options) -> Options:
        """What stands after the command wins over what stands before it."""
        return Options(
            *(getattr(self, each.name) or getattr(before, each.name) for each in fields(self))
        )


class Shell:
    """What a command gets besides its own arguments: a bank to open, and a way to print."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.output = Output(as_json=options.as_json)

    @property
    def namespace(self) -> tuple[str, ...]:
        """As given, else from the environment, else ("default",)."""
        parts = tuple(os.environ.get("EBBMEM_NAMESPACE", "").split("/"))
        return self.options.namespace or (parts if parts != ("",) else ("default",))

    @property
    def path(self) -> Path:
        """As given, else from the environment, else in the user's data folder."""
        return self.options.db or Path(os.environ.get("EBBMEM_DB") or default_path())

    def file(self) -> Path:
        """The file that the options name, which is there."""
        if not _is_there(self.path):
            raise NoMemoryYet(self.path)
        return self.path

    def bank(
        self, *, create: bool = False, as_written: bool = False, maintain: bool = True
    ) -> MemoryBank:
        """The bank that the options name.

        Args:
            create: make the file if there is none; else that is an error, as it may be a typo.
            as_written: with the file's own embedder, whatever the options say.
            maintain: let the daily pass run on opening, if it is due.
        """
        from ebbmem.bank import MemoryBank  # heavy; --help needs none of it

        if not create:
            self.file()
        elif self.path == default_path():
            _make_private(self.path.parent)
        named = {PolicyName.chat: Policy.chat(), PolicyName.published: Policy()}
        return MemoryBank.open(
            self.path,
            namespace=self.namespace,
            embedder="auto" if as_written else self.options.embedder or "auto",
            policy=named[self.options.policy] if self.options.policy else None,
            maintain=maintain,
        )

    def suggest(self, name: str, namespace: Sequence[str]) -> str:
        """A command over the same file, as a shell takes it."""
        db = ["--db", str(self.options.db)] if self.options.db else []
        parts = [word for part in namespace for word in ("-n", part)]
        return f"{program()} {shlex.join([name, *db, *parts])}"


def default_path() -> Path:
    """$XDG_DATA_HOME/ebbmem/memory.db, by default under ~/.local/share."""
    base = os.environ.get("XDG_DATA_HOME", "")
    folder = Path(base) if os.path.isabs(base) else Path.home() / ".local" / "share"
    return folder / "ebbmem" / "memory.db"


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise StoreReadOnly(path, f"cannot be opened: {error.strerror}") from error
    return True


def _make_private(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreReadOnly(folder, f"cannot be created: {error.strerror}") from error


_ORDER = (
    *("demo", "remember", "recall", "explain", "list", "show"),
    *("reinforce", "pin", "hold", "restore", "forget", "erase", "prune", "forecast", "stats"),
    *("export", "import", "reembed", "backup", "doctor", "repair"),
    *("audit", "probe", "report", "bench"),
)


class _Ordered(TyperGroup):
    """Lists the commands as one meets them, not by the alphabet."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=_ORDER.index)


app = typer.Typer(
    name="ebbmem",
    help="A memory that forgets the way people do: what is used stays, the rest fades.",
    cls=_Ordered,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its boxes squeeze the help into half of 80 columns
)


def command(
    name: str, *, bank: bool = True, on: typer.Typer | None = None
) -> Callable[[Callable[Concatenate[Shell, P], None]], Callable[..., None]]:
    """Make a function a command: it gets a `Shell`, its options the shared ones behind them.

    Args:
        name: a blank one is what the group itself does when no command of it is named.
        bank: False leaves out the options that say which memory is meant.
        on: the group it belongs to; None is the app itself.
    """

    def decorate(function: Callable[Concatenate[Shell, P], None]) -> Callable[..., None]:
        shared = _SHARED if bank else {each: _SHARED[each] for each in ("embedder", "as_json")}

        @functools.wraps(function)
        def invoke(ctx: typer.Context, **given: Any) -> None:
            options = _options(**{each: given.pop(each) for each in shared})
            before = ctx.obj if isinstance(ctx.obj, Options) else Options()
            ctx.obj = options.or_else(before)
            if ctx.invoked_subcommand is None:
                function(Shell(ctx.obj), **given)  # type: ignore[call-arg]

        _, *own = inspect.signature(function, eval_str=True).parameters.values()
        first = inspect.Parameter(
            "ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
        )
        behind = [
            inspect.Parameter(
                each,
                inspect.Parameter.KEYWORD_ONLY,
                default=False if each == "as_json" else None,
                annotation=annotation,
            )
            for each, annotation in shared.items()
        ]
        parameters = [first, *own, *behind]
        # typer reads both: the parameters here, the types of Annotated there.
        invoke.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        invoke.__annotations__ = {each.name: each.annotation for each in parameters}
        group = app if on is None else on
        (group.command(name) if name else group.callback(invoke_without_command=True))(invoke)
        return invoke

    return decorate


_SHARED: dict[str, Any] = {
    "db": Db,
    "namespace": NamespaceParts,
    "embedder": EmbedderName,
    "policy": PolicyChoice,
    "as_json": AsJson,
}


def _options(
    *,
    db: Path | None = None,
    namespace: Sequence[str] | None = None,
    embedder: str | None = None,
    policy: PolicyName | None = None,
    as_json: bool = False,
) -> Options:
    return Options(db, tuple(namespace or ()), embedder, policy, as_json)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ebbmem {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def before(
    ctx: typer.Context,
    *,
    db: Db = None,
    namespace: NamespaceParts = None,
    embedder: EmbedderName = None,
    policy: PolicyChoice = None,
    as_json: AsJson = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Say which it is."),
    ] = False,
) -> None:
    """A memory that forgets the way people do: what is used stays, the rest fades."""
    ctx.obj = _options(
        db=db, namespace=namespace, embedder=embedder, policy=policy, as_json=as_json
    )
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
