"""surepick inside the tools that people already have: one module for each, each an extra.

Nothing else imports these modules; each loads its library when it is imported itself.
"""
