"""The reference of commands: a page for each, made of what the command line itself declares."""

from __future__ import annotations

import re
from typing import Any

from nbest.cli.main import COMMANDS, app

FOLDER = "reference/commands"


def on_config(config: Any) -> Any:
    """Put the pages into the navigation, where it says `commands`."""
    pages = [{f"nbest {name}": f"{FOLDER}/{name}.md"} for name in COMMANDS]
    config.nav = _filled(config.nav, {"commands": [{"Overview": f"{FOLDER}/index.md"}, *pages]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages."""
    from mkdocs.structure.files import File

    for name, text in pages().items():
        files.append(File.generated(config, f"{FOLDER}/{name}.md", content=text))
    return files


def pages() -> dict[str, str]:
    """Every page by its name."""
    import typer

    whole: Any = typer.main.get_command(app)
    context = whole.make_context("nbest", [], resilient_parsing=True)
    found = {name: whole.get_command(context, name) for name in COMMANDS}
    rows = "".join(f"| [`nbest {name}`]({name}.md) | {_summary(found[name])} |\n" for name in COMMANDS)
    head = (
        "# Commands\n\nThe same text as `nbest COMMAND --help`. Further options of methods and metrics: "
        "[options](../../options.md).\n\n"
    )
    return {"index": f"{head}| command | what it does |\n| --- | --- |\n{rows}"} | {
        name: "\n".join(_sections(f"nbest {name}", command, context, "#")) for name, command in found.items()
    }


def _sections(name: str, command: Any, parent: Any, level: str) -> list[str]:
    """The text of a command, and of those below it."""
    texts = [f"{level} {name}\n", _help(command.help or ""), _options(command)]
    if hasattr(command, "list_commands"):
        context = type(parent)(command, info_name=name, parent=parent)
        for below in command.list_commands(context):
            _, found, _ = command.resolve_command(context, [below])  # as it is run, with its options
            texts += _sections(f"{name} {below}", found, context, level + "#")
    return texts


def _help(text: str) -> str:
    """Help as Markdown: paragraphs, and the indented examples as one block."""
    parts: list[str] = []
    examples: list[str] = []
    for part in re.split(r"\n\s*\n", text.strip("\n")):
        if re.fullmatch(r"\s*\[bold\]Examples?\[/bold\]\s*", part):
            continue
        if part.startswith("  "):
            examples.append(re.sub(r"\s*\n\s+", " ", part.strip()))
            continue
        parts.append(_escaped(part.strip()))
    block = "**Examples**\n\n```sh\n" + "\n".join(examples) + "\n```\n" if examples else ""
    return "\n\n".join(parts) + "\n\n" + block.replace("[bold]", "").replace("[/bold]", "")


def _escaped(text: str) -> str:
    text = re.sub(r"\[/?bold\]", "**", text)
    return re.sub(r"([<>*_|\[\]])", r"\\\1", text).replace("\\*\\*", "**")


def _options(command: Any) -> str:
    """The arguments and options of a command as a table."""
    rows = []
    for each in sorted(command.params, key=lambda each: each.param_type_name != "argument"):
        if getattr(each, "hidden", False):
            continue
        argument = each.param_type_name == "argument"
        names = f"`{each.name.upper()}`" if argument else ", ".join(f"`{name}`" for name in each.opts)
        default = "required" if each.required else _default(each)
        rows.append(f"| {names} | {default} | {_escaped(getattr(each, 'help', None) or '')} |\n")
    return "| option | default | what it is |\n| --- | --- | --- |\n" + "".join(rows) if rows else ""


def _default(each: Any) -> str:
    value = each.default
    if value is None or value in ((), [], "", False) or callable(value):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _summary(command: Any) -> str:
    """The first sentence of the help."""
    text = re.sub(r"\s+", " ", (command.help or "").strip())
    return _escaped(re.match(r".*?[.:](?= |$)|.*", text)[0].rstrip(":"))  # type: ignore[index]


def _filled(nav: Any, places: dict[str, Any]) -> Any:
    """The navigation with lists in the places of their names."""
    if isinstance(nav, list):
        return [_filled(each, places) for each in nav]
    if isinstance(nav, dict):
        return {key: _filled(value, places) for key, value in nav.items()}
    return places.get(nav, nav)
