"""``surepick demo``: watch PELEG find the best arm of the paper's confounding-arm instance."""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np


@click.command("demo", short_help="Identify the best arm of a simulated instance.")
@click.option("--d", default=5, show_default=True, help="Dimension of the instance.")
@click.option("--omega", default=0.1, show_default=True, help="Angle of the confounding arm.")
@click.option("--delta", default=0.1, show_default=True, help="Error probability.")
@click.option("--algorithm", default="peleg", show_default=True, help="Registry name.")
@click.option("--seed", default=0, show_default=True, help="Seed of the simulated rewards.")
@click.option(
    "--out", default="results", show_default=True, type=click.Path(path_type=Path), help="Folder."
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def command(
    d: int, omega: float, delta: float, algorithm: str, seed: int, out: Path, as_json: bool
) -> None:
    """Identify the best arm of a simulated instance and keep the certificate."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    import surepick as sp

    instance = sp.simulate.instances.confounding(d, omega)
    console = Console(stderr=as_json)
    console.print(
        f"[bold]{algorithm}[/bold] on {instance.name}: {instance.problem.n_arms} arms, "
        f"smallest gap {np.sort(instance.gaps)[1]:.4g}, noise 1, delta {delta:g}"
    )
    rng = np.random.default_rng(seed)
    run = sp.algorithms.get(algorithm, delta=delta).start(instance.problem, rng=seed)
    rivals = instance.problem.n_candidates - 1
    columns = (
        TextColumn("ruled out"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=rivals, note="preparing")
        while not run.stopped:
            batch = run.ask()
            progress.update(task, note=f"batch {batch.number + 1}: {batch.size:,} pulls")
            run.tell(batch, instance.means[batch.arms] + rng.standard_normal(batch.size))
            progress.update(
                task,
                completed=rivals + 1 - len(run.active),
                note=f"{run.batches} batches, {run.samples:,} pulls",
            )
    answer = run.answer
    out.mkdir(parents=True, exist_ok=True)
    (out / "answer.json").write_text(json.dumps(answer.to_dict(), indent=2) + "\n")
    (out / "certificate.json").write_text(json.dumps(answer.certificate(), indent=1) + "\n")
    sp.verify(out / "certificate.json")
    bound = sp.design.complexity(instance.problem, instance.theta).lower_bound(delta)
    if as_json:
        click.echo(json.dumps(answer.to_dict()))
        return
    truth = "which is right" if instance.is_correct(answer.arm) else "which is WRONG"
    console.print(
        f"Answer: arm [bold]{answer.label}[/bold] ({truth}), after {answer.samples:,} pulls; "
        f"no method can average fewer than {bound:,.0f}.\n"
        f"{answer.plain}\n"
        f"Answer and certificate (checked) are in {out}/; "
        f"check again with: surepick verify {out}/certificate.json"
    )
