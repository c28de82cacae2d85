"""A course with a limited number of places."""

import os

from django.db import models, transaction

FIXED = os.environ.get("FIXED") == "1"


class Course(models.Model):
    places = models.IntegerField()


class Booking(models.Model):
    course = models.ForeignKey(Course, on_delete=models.CASCADE)
    member = models.CharField(max_length=40)


class Full(Exception):
    pass


@transaction.atomic
def book(course_id, member):
    """Counts the bookings, then adds one. With FIXED=1 the course is locked, so one member counts at a time."""
    courses = Course.objects.select_for_update() if FIXED else Course.objects
    course = courses.get(pk=course_id)
    if course.booking_set.count() >= course.places:
        raise Full
    return Booking.objects.create(course=course, member=member)
