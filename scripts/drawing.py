"""Draws small pictures as SVG, in the viewer's colours (viewer/widgets/theme.cc)."""

import html

FILL = {"cpu": "#a79bc4", "note": "#c9d3de", "kernel": "#4f8fd9", "communication": "#e8914a", "copy": "#3fa66a",
        "data": "#d65a52", "runtime": "#79b8b4", "idle": "#eceff3"}
# The colours of text, of less important text, of lines between rows, of marks, and of the paper.
LIGHT = {"text": "#1f2933", "muted": "#647080", "line": "#dfe3e8", "accent": "#2f62d9", "paper": "#ffffff"}
DARK = {"text": "#e4e8ed", "muted": "#98a4b3", "line": "#343c47", "accent": "#7aa2ff", "paper": "#1b2027"}
WIDTH = 760
FONT = 'font-family="Inter, DejaVu Sans, sans-serif" font-size="12"'


def text(x, y, words, fill=LIGHT["text"], anchor="start"):
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{fill}" text-anchor="{anchor}" {FONT}>{html.escape(words)}</text>'


def box(x, y, width, height, fill, dashed=False):
    style = f'fill="{fill}"' if not dashed else f'fill="none" stroke="{fill}" stroke-dasharray="4 3"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" rx="2" {style}/>'


def line(path, stroke, width=1, dashes=""):
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<path d="{path}" fill="none" stroke="{stroke}" stroke-width="{width}"{dashed}/>'


def picture(height, parts, paper=LIGHT["paper"]):
    body = "\n".join([box(0, 0, WIDTH, height, paper), *parts])
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'height="{height}">\n{body}\n</svg>\n')
