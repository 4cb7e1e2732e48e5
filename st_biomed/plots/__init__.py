"""The papers' figures as PNG files: numbers first, then the drawing."""
