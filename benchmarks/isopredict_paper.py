"""The numbers of the IsoPredict paper (Geng, Blackburn, et al., PLDI 2024, §7), for tables that stand beside them.

A run is 3 sessions of 4 transactions (small) or of 8 (large). Seconds are of one machine with 16 cores at 2.3 GHz; whatever did not end within
24 hours is a timeout. None is "–" in the paper.
"""

WORKLOADS = ["smallbank", "voter", "tpcc", "wikipedia"]
STRATEGIES = ["exact-strict", "approx-strict", "approx-relaxed"]
LEVELS = ["causal", "read-committed"]
SIZES = [4, 8]

# Table 3: reads, writes, committed transactions, and those of them that only read.
SIZE = {
    ("smallbank", 4): (669.7, 14.7, 11.0, 3.5), ("smallbank", 8): (1271.3, 30.5, 20.3, 6.6),
    ("voter", 4): (763.0, 6.0, 12.0, 11.0), ("voter", 8): (919.0, 6.0, 24.0, 23.0),
    ("tpcc", 4): (3297.3, 763.0, 11.9, 0.9), ("tpcc", 8): (7025.6, 1502.4, 23.8, 1.7),
    ("wikipedia", 4): (1067.7, 55.1, 9.9, 8.8), ("wikipedia", 8): (2677.1, 111.1, 22.8, 20.6),
}

# Tables 4 and 5, of 10 runs: no answer, unsat, sat, validated, diverged, seconds to generate, to solve where sat, to solve where unsat.
FOUND = {
    ("causal", 4): {
        "smallbank": [(0, 6, 4, 4, 0, 8.8, 13.9, 11.3), (0, 6, 4, 4, 1, 22.9, 1.0, 3.2), (0, 0, 10, 9, 1, 22.9, 0.6, None)],
        "voter": [(0, 10, 0, 0, 0, 61.7, None, 64.5), (0, 10, 0, 0, 0, 131.7, None, 10.4), (0, 10, 0, 0, 0, 132.1, None, 10.0)],
        "tpcc": [(0, 1, 9, 9, 0, 220.4, 230.4, 752.3), (0, 1, 9, 9, 0, 425.8, 35.1, 105.2), (0, 0, 10, 10, 0, 425.5, 22.7, None)],
        "wikipedia": [(1, 9, 0, 0, 0, 13.9, None, 24.0), (0, 10, 0, 0, 0, 36.3, None, 1.3), (0, 8, 2, 2, 1, 36.3, 2.5, 1.0)],
    },
    ("causal", 8): {
        "smallbank": [(4, 1, 5, 5, 1, 55.6, 8618.9, 2366.2), (1, 0, 9, 9, 0, 121.0, 332.5, None), (0, 0, 10, 10, 0, 118.8, 19.3, None)],
        "voter": [(9, 1, 0, 0, 0, 235.1, None, 5708.7), (0, 10, 0, 0, 0, 490.5, None, 47.2), (0, 10, 0, 0, 0, 496.1, None, 47.1)],
        "tpcc": [(4, 3, 3, 3, 0, 1914.6, 30413.1, 24281.2), (2, 0, 8, 8, 0, 3416.1, 1210.3, None), (0, 0, 10, 10, 2, 3332.3, 186.2, None)],
        "wikipedia": [(8, 1, 1, 1, 0, 111.9, 910.2, 1876.8), (0, 9, 1, 1, 0, 263.7, 15.6, 30.1), (0, 8, 2, 2, 2, 258.3, 20.3, 25.3)],
    },
    ("read-committed", 4): {
        "smallbank": [(0, 0, 10, 10, 0, 10.0, 2.3, None), (0, 0, 10, 10, 0, 24.3, 0.8, None), (0, 0, 10, 10, 0, 24.4, 0.6, None)],
        "voter": [(0, 0, 10, 10, 2, 62.5, 12.9, None), (0, 0, 10, 10, 7, 133.0, 12.3, None), (0, 0, 10, 10, 10, 132.7, 12.7, None)],
        "tpcc": [(0, 0, 10, 10, 0, 359.0, 52.0, None), (0, 0, 10, 10, 0, 569.2, 27.2, None), (0, 0, 10, 10, 3, 588.9, 22.8, None)],
        "wikipedia": [(2, 1, 7, 7, 2, 15.4, 3.9, 8.0), (0, 3, 7, 7, 1, 38.3, 2.1, 0.5), (0, 3, 7, 7, 7, 38.1, 1.7, 0.5)],
    },
    ("read-committed", 8): {
        "smallbank": [(0, 0, 10, 9, 1, 60.3, 624.6, None), (0, 0, 10, 10, 1, 124.5, 19.0, None), (0, 0, 10, 10, 1, 128.7, 51.7, None)],
        "voter": [(0, 0, 10, 10, 2, 255.7, 212.0, None), (0, 0, 10, 10, 6, 491.7, 76.2, None), (0, 0, 10, 10, 10, 495.2, 75.4, None)],
        "tpcc": [(0, 0, 10, 10, 2, 2571.0, 898.6, None), (0, 0, 10, 10, 2, 3981.9, 279.7, None), (0, 0, 10, 10, 4, 4040.4, 201.0, None)],
        "wikipedia": [(0, 0, 10, 10, 1, 124.6, 81.4, None), (0, 0, 10, 10, 1, 272.8, 29.2, None), (0, 0, 10, 9, 10, 272.9, 16.9, None)],
    },
}

# Tables 6 and 7, in percent: random runs in which an assertion failed, and that were not serializable; validated predictions; at read-committed also
# runs on MySQL in which an assertion failed. The predictions are those of the best strategy of the level.
BEST = {"causal": "approx-relaxed", "read-committed": "approx-strict"}
RATES = {
    ("causal", 4): {"smallbank": (70, 98, 90), "voter": (70, 80, 0), "tpcc": (98, 100, 100), "wikipedia": (0, 11, 20)},
    ("causal", 8): {"smallbank": (84, 100, 100), "voter": (56, 80, 0), "tpcc": (100, 100, 100), "wikipedia": (0, 19, 20)},
    ("read-committed", 4): {"smallbank": (100, 100, 100, 0), "voter": (89, 100, 100, 0), "tpcc": (100, 100, 100, 50), "wikipedia": (54, 54, 70, 0)},
    ("read-committed", 8): {"smallbank": (100, 100, 100, 0), "voter": (95, 100, 100, 0), "tpcc": (100, 100, 100, 70), "wikipedia": (89, 89, 100, 0)},
}


def found(level, size, workload, strategy):
    """A row of Table 4 or 5; nothing for a strategy that the paper has not."""
    return FOUND[level, size][workload][STRATEGIES.index(strategy)] if strategy in STRATEGIES else None
