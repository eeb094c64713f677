"""Which cells of the three published batch files the Severson et al. (2019) study kept, and how it split them.

The numbers are facts of the publication: cell i of batch b is called b{b}c{i}, counting from 0 as the files do. The
paper's Table 1 uses exactly this selection (41 training cells, 43 + 40 test cells).
"""

from __future__ import annotations

FILE_DATES = {1: "2017-05-12", 2: "2017-06-30", 3: "2018-04-12"}  # the names of the batch files start with these
CELLS_IN_FILE = {1: 46, 2: 48, 3: 46}

# Cells of the second file that are the first five cells of the first file, cycled further.
CONTINUED_AS = {0: 7, 1: 8, 2: 9, 3: 15, 4: 16}
# Batch 1: never reached 80 % of the nominal capacity. Batch 3: a faulty channel (37), unfinished (23, 32), noisy.
EXCLUDED = {1: {8, 10, 12, 13, 22}, 2: set(CONTINUED_AS.values()), 3: {2, 23, 32, 37, 42, 43}}

KEPT = tuple(
    (batch, index) for batch, count in CELLS_IN_FILE.items() for index in range(count) if index not in EXCLUDED[batch]
)


def cell_name(batch: int, index: int) -> str:
    return f"b{batch}c{index}"


def published_split(position: int) -> str:
    """Split of the cell at this position (from 0) of KEPT: every second cell of batches 1 and 2 trains.

    The last cell of batch 2 was moved to the test cells, whence 41 and 43.
    """
    batch = KEPT[position][0]
    if batch == 3:
        return "test2"
    last_of_second = sum(1 for kept_batch, _ in KEPT if kept_batch < 3) - 1
    return "test1" if position % 2 == 0 or position == last_of_second else "train"


# Policies for sources that have none. Batch 1 as the batch file names them: Supplementary Table 9 goes on counting
# through the five excluded cells and is shifted from the tenth cell on. Batches 2 and 3 as in Supplementary Table 9.
_POLICIES = """
3.6C(80%)-3.6C 3.6C(80%)-3.6C 3.6C(80%)-3.6C 4C(80%)-4C 4C(80%)-4C 4.4C(80%)-4.4C 4.8C(80%)-4.8C 4.8C(80%)-4.8C
5.4C(40%)-3.6C 5.4C(50%)-3C 5.4C(60%)-3C 5.4C(60%)-3C 5.4C(60%)-3.6C 5.4C(60%)-3.6C 5.4C(70%)-3C 5.4C(70%)-3C
5.4C(80%)-5.4C 5.4C(80%)-5.4C 6C(30%)-3.6C 6C(40%)-3C 6C(40%)-3C 6C(40%)-3.6C 6C(40%)-3.6C 6C(50%)-3C 6C(50%)-3C
6C(50%)-3.6C 6C(50%)-3.6C 6C(60%)-3C 6C(60%)-3C 7C(30%)-3.6C 7C(30%)-3.6C 7C(40%)-3C 7C(40%)-3C 7C(40%)-3.6C
7C(40%)-3.6C 8C(15%)-3.6C 8C(15%)-3.6C 8C(25%)-3.6C 8C(25%)-3.6C 8C(35%)-3.6C 8C(35%)-3.6C
1C(4%)-6C 2C(10%)-6C 2C(2%)-5C 2C(7%)-5.5C 3.6C(22%)-5.5C 3.6C(2%)-4.85C 3.6C(30%)-6C 3.6C(9%)-5C 4C(13%)-5C
4C(31%)-5C 4C(40%)-6C 4C(4%)-4.85C 4.4C(24%)-5C 4.4C(47%)-5.5C 4.4C(55%)-6C 4.4C(8%)-4.85C 4.65C(19%)-4.85C
4.65C(44%)-5C 4.65C(69%)-6C 4.8C(80%)-4.8C 4.8C(80%)-4.8C 4.8C(80%)-4.8C 4.9C(27%)-4.75C 4.9C(61%)-4.5C
4.9C(69%)-4.25C 5.2C(10%)-4.75C 5.2C(37%)-4.5C 5.2C(50%)-4.25C 5.2C(58%)-4C 5.2C(66%)-3.5C 5.2C(71%)-3C
5.6C(25%)-4.5C 5.6C(38%)-4.25C 5.6C(47%)-4C 5.6C(58%)-3.5C 5.6C(5%)-4.75C 5.6C(65%)-3C 6C(20%)-4.5C 6C(31%)-4.25C
6C(40%)-4C 6C(4%)-4.75C 6C(52%)-3.5C 6C(60%)-3C
5C(67%)-4C 5.3C(54%)-4C 5.6C(36%)-4.3C 5.6C(19%)-4.6C 5.6C(36%)-4.3C 3.7C(31%)-5.9C 4.36C(80%)-4.36C 5C(67%)-4C
5.3C(54%)-4C 4.36C(80%)-4.36C 5.6C(19%)-4.6C 5.6C(36%)-4.3C 5.6C(19%)-4.6C 5.6C(36%)-4.3C 5.9C(15%)-4.6C
4.36C(80%)-4.36C 5.3C(54%)-4C 5.6C(19%)-4.6C 5.6C(36%)-4.3C 5C(67%)-4C 3.7C(31%)-5.9C 5.9C(60%)-3.1C 5C(67%)-4C
5.3C(54%)-4C 5.6C(19%)-4.6C 5.6C(36%)-4.3C 3.7C(31%)-5.9C 5.9C(15%)-4.6C 5.3C(54%)-4C 5.9C(60%)-3.1C 5C(67%)-4C
5.3C(54%)-4C 5.6C(19%)-4.6C 5.6C(36%)-4.3C 5C(67%)-4C 5.3C(54%)-4C 5.6C(19%)-4.6C 5.6C(36%)-4.3C 5.3C(54%)-4C
4.36C(80%)-4.36C
"""
PUBLISHED_POLICIES = dict(zip(KEPT, _POLICIES.split(), strict=True))
