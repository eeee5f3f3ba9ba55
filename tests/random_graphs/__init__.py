"""Graphs drawn at random from a seed, and what they must give: used by check_random_graphs.py and check_totals.py."""
