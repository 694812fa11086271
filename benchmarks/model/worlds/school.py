"""A school: courses, students, rooms; three tools change something. Records are dataclasses."""

from dataclasses import dataclass
from typing import Final

__all__ = [
    "TOOLS",
    "Absence",
    "Course",
    "Room",
    "Student",
    "book_room",
    "effects",
    "enroll",
    "get_absences",
    "get_grades",
    "list_courses",
    "list_rooms",
    "list_students",
    "post_notice",
]

effects: list[list[object]] = []


@dataclass
class Course:
    """A course."""

    code: str
    title: str
    teacher: str
    seats: int


@dataclass
class Student:
    """A student."""

    student_id: int
    name: str
    year: int


@dataclass
class Absence:
    """A day that a student was not there."""

    day: str
    excused: bool


@dataclass
class Room:
    """A room."""

    number: str
    places: int
    has_screen: bool


_COURSES: Final = [
    ("MA1", "Algebra", "Ruiz", 3, [1, 2, 3]),
    ("PH1", "Optics", "Sato", 4, [2, 4]),
    ("HI2", "Rome", "Tran", 5, [1, 4, 5]),
    ("MA2", "Geometry", "Ruiz", 4, [3, 5]),
]
_STUDENTS: Final = {1: ("Abel", 1), 2: ("Bea", 2), 3: ("Cem", 1), 4: ("Dora", 3), 5: ("Emil", 2)}
_GRADES: Final = {
    1: {"MA1": 5.0, "HI2": 3.5},
    2: {"MA1": 4.0, "PH1": 5.5},
    3: {"MA1": 2.5, "MA2": 4.5},
    4: {"PH1": 3.0, "HI2": 6.0},
    5: {"HI2": 4.5, "MA2": 5.0},
}
_ABSENCES: Final = {
    1: [("2026-03-02", True), ("2026-03-09", False)],
    2: [],
    3: [("2026-03-03", False), ("2026-03-04", False), ("2026-04-01", True)],
    4: [("2026-04-15", True)],
    5: [("2026-04-16", False)],
}
_ROOMS: Final = [("A1", 30, True), ("A2", 12, False), ("B1", 18, True), ("B2", 45, False)]


def _known(student_id: int) -> int:
    if student_id not in _STUDENTS:
        message = f"there is no student {student_id}"
        raise ValueError(message)
    return student_id


def _members(course_code: str) -> list[int]:
    for code, _, _, _, members in _COURSES:
        if code == course_code:
            return members
    message = f"there is no course {course_code!r}"
    raise ValueError(message)


def list_courses() -> list[Course]:
    """List all courses. `seats` is how many students a course can take."""
    return [Course(code, title, teacher, seats) for code, title, teacher, seats, _ in _COURSES]


def list_students(course_code: str) -> list[Student]:
    """List the students of one course.

    Args:
        course_code: The course's code, e.g. "MA1"
    """
    return [Student(number, *_STUDENTS[number]) for number in _members(course_code)]


def get_grades(student_id: int) -> dict[str, float]:
    """Get the grades of one student: the grade by course code. 6 is best.

    Args:
        student_id: The student's id
    """
    return dict(_GRADES[_known(student_id)])


def get_absences(student_id: int, month: str) -> list[Absence]:
    """List the days in a month when one student was absent.

    Args:
        student_id: The student's id
        month: Year and month, e.g. "2026-03"
    """
    return [Absence(day, excused) for day, excused in _ABSENCES[_known(student_id)] if day.startswith(month)]


def list_rooms() -> list[Room]:
    """List all rooms."""
    return [Room(number, places, screen) for number, places, screen in _ROOMS]


def enroll(student_id: int, course_code: str) -> bool:
    """Put one student into a course.

    Args:
        student_id: The student's id
        course_code: The course's code
    """
    _members(course_code)
    effects.append(["enroll", _known(student_id), course_code])
    return True


def book_room(room_number: str, day: str, hour: int) -> str:
    """Book a room for one hour, and return the booking's code.

    Args:
        room_number: The room's number, e.g. "B2"
        day: The day, e.g. "2026-05-20"
        hour: The hour at which it begins, 8 to 17
    """
    effects.append(["book_room", room_number, day, hour])
    return f"BK{len(effects)}"


def post_notice(course_code: str, text: str) -> bool:
    """Post a notice to the students of a course.

    Args:
        course_code: The course's code
        text: What it says
    """
    _members(course_code)
    effects.append(["post_notice", course_code, text])
    return True


TOOLS: Final = (list_courses, list_students, get_grades, get_absences, list_rooms, enroll, book_room, post_notice)
