"""Ask for a batch, measure it wherever you like, tell the rewards; save in between."""

import numpy as np

import surepick as sp

rng = np.random.default_rng(1)
options = rng.normal(size=(30, 4))  # thirty options in four features
truth = np.array([1.0, -0.5, 0.3, 0.0])

run = sp.algorithms.PooledPeleg(delta=0.05).start(sp.Problem(options, noise=1.0))
while not run.stopped:
    batch = run.ask()
    rewards = options[batch.arms] @ truth + rng.normal(size=len(batch))
    run.tell(batch, rewards)
    print(f"{run.samples:4} measurements, {len(run.active):2} options left")
    run = sp.Run.from_json(run.to_json())  # stop here, go on tomorrow: nothing changes

assert run.answer.arm == np.argmax(options @ truth)
print(f"option {run.answer.label} is {run.answer.guarantee}")
