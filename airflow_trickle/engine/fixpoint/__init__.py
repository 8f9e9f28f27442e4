"""Cycles and recursion: tables that define each other, brought to their least fixed point."""
