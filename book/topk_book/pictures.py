"""Figures that one page draws and another one shows."""

from __future__ import annotations

import base64
import html
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Picture:
    """A figure with the text that is read in its place, to be glued.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        What is shown.
    alt : str
        What it shows, in words.
    """

    def __init__(self, figure: Figure, alt: str) -> None:
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", bbox_inches="tight", metadata={"Software": None})
        self.png, self.alt = buffer.getvalue(), alt

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.png).decode()
        return f'<img alt="{html.escape(self.alt)}" src="data:image/png;base64,{data}">'

    def _repr_png_(self) -> bytes:
        return self.png

    def __repr__(self) -> str:
        return f"<Picture: {self.alt}>"
