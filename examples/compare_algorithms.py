"""Mean pulls of several algorithms on one instance, beside the lower bound."""

import surepick as sp

DELTA = 0.1
instance = sp.simulate.instances.confounding(4, omega=0.4)
bound = sp.design.complexity(instance.problem, instance.theta).lower_bound(DELTA)
print(f"no algorithm that is right with probability {1 - DELTA:g} can average below {bound:.0f}")
for name in ("pooled-peleg", "peleg", "rage", "xy-static", "uniform"):
    table = sp.simulate.trials(sp.algorithms.get(name, delta=DELTA), instance, n=10)
    wrong = int((~table["correct"]).sum())
    mean = table["samples"].mean()
    print(f"{name:13} {mean:6.0f} pulls, {mean / bound:4.1f} times the bound, {wrong} of 10 wrong")
