"""Figures as PNG or SVG files: numbers first, then the drawing."""
