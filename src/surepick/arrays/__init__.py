"""Arrays and what every layer needs to work on them: types, backends, kernels, memory, caches."""
