# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Sphinx's configuration of the site, whose pages make_site.py lays out."""

project = "sparsecoll"
copyright = "2026 The sparsecoll authors"  # the name is Sphinx's
extensions = ["myst_parser", "breathe"]
root_doc = "README"
myst_heading_anchors = 4  # links to headings, with the anchors that a forge gives them
breathe_projects = {"sparsecoll": "../reference/xml"}
breathe_default_project = "sparsecoll"
breathe_domain_by_extension = {"h": "c"}
html_theme = "furo"
html_title = "sparsecoll"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
