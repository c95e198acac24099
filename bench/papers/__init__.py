# SPDX-License-Identifier: MIT
"""The documents' tables and figures: what each says, and how it is measured today. One module a document."""
