"""Two members book the last place. Each has a thread of its own and so, as Django has it, a connection of its own."""

from concurrent.futures import ThreadPoolExecutor

from django.db import connection
from django.test import TransactionTestCase

from .models import Booking, Course, Full, book


def books(course_id, member):
    try:
        book(course_id, member)
    except Full:
        pass
    finally:
        connection.close()


class Bookings(TransactionTestCase):
    def test_no_course_is_overbooked(self):
        course = Course.objects.create(places=1)
        with ThreadPoolExecutor(max_workers=2) as members:
            list(members.map(lambda member: books(course.pk, member), ["Ann", "Bob"]))
        self.assertEqual(Booking.objects.filter(course=course).count(), 1)
