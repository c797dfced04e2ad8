"""Names stand beside their spots, inside the room, clear of each other."""

from __future__ import annotations

from unmask.labels import Box, Room, beside, leader

ROOM = Room((0, 0, 400, 300))


def apart(a: Box, b: Box) -> bool:
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_a_name_alone_stands_right_of_its_spot() -> None:
    (box,) = beside([(100, 100)], ["alone"], ROOM)
    assert box == (110, 92, 110 + 7.4 * 5, 108)
    assert leader((100, 100), box, ROOM) is None


def test_a_name_at_the_right_edge_stands_left_of_its_spot() -> None:
    (box,) = beside([(395, 100)], ["edge"], ROOM)
    assert box[2] == 385


def test_a_name_does_not_stand_on_a_line() -> None:
    line = (20.0, 99.0, 180.0, 101.0)
    (box,) = beside([(100, 100)], ["alone"], ROOM, [line])
    assert apart(box, line)


def test_names_of_a_crowd_are_apart_and_inside_and_led_back() -> None:
    spots = [(380.0 + i, 20.0 + i) for i in range(6)]
    boxes = beside(spots, [f"explanation-{i}" for i in range(6)], ROOM)
    assert all(apart(a, b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert all(left >= 0 and right <= 400 and top >= 0 and bottom <= 300 for left, top, right, bottom in boxes)
    led = [leader(spot, box, ROOM) for spot, box in zip(spots, boxes, strict=True)]
    far = [line for line in led if line is not None]
    assert far
    for line, spot, box in zip(led, spots, boxes, strict=True):
        if line is not None:
            assert line[0] == spot
            assert box[0] <= line[1][0] <= box[2]
            assert line[1][1] in (box[1], box[3])
