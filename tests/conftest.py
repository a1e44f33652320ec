from hypothesis import settings

# The same examples on every machine and in every run; kernels compile on first use: no deadline.
settings.register_profile("surepick", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("surepick")
