"""How the site is built: ``make docs``. Nothing here needs a network."""

import sys
from pathlib import Path

import surepick

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "surepick"
author = "surepick contributors"
copyright = f"2026, {author}"
version = release = surepick.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "cli_reference",  # docs/_ext
    "settings_reference",
]
source_suffix = {".md": "myst-nb"}
exclude_patterns = ["_build", "_ext"]
nitpicky = False  # what Python refers to outside this site cannot be looked up without a network

# Formulas are written in Unicode (V⁻¹, Σ, θ*): they read the same in a terminal, in a code
# review and here, and need no MathJax, which would be fetched from elsewhere.
myst_enable_extensions = ["deflist", "fieldlist"]
myst_heading_anchors = 4

# Pages whose code draws a picture are notebooks, run while the site is built; everything else
# is run by the tests.
nb_execution_mode = "auto"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "pydata_sphinx_theme"
html_title = f"surepick {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"  # a browser that is not told of any asks for favicon.ico
html_context = {"default_mode": "auto"}  # light or dark as the system is
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "surepick"},
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
