"""Ordinary tests of the library, one request after the other: they pass on every database, however weak."""

import datetime as dt
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Count, F, Sum
from django.test import TestCase, TransactionTestCase

from .models import Loan, Reader, Tag, Title


def lend(reader, title, since):
    """Lends a title; the fee goes up by one for every loan after the second."""
    with transaction.atomic():
        locked = Reader.objects.select_for_update().get(pk=reader.pk)
        if locked.loans.filter(returned=None).count() >= 2:
            locked.fee += 1
            locked.save()
        return Loan.objects.create(reader=locked, title=title, since=since)


def give_back(loan, day):
    changed = Loan.objects.filter(pk=loan.pk, returned=None).update(returned=day)
    return changed == 1


class Lending(TestCase):
    @classmethod
    def setUpTestData(cls):
        cls.ann = Reader.objects.create(name="Ann", email="ann@example.org")
        cls.bob = Reader.objects.create(name="Bob", email="bob@example.org", city="Ulm")
        cls.titles = [Title.objects.create(name=f"Title {number}", price=Decimal(number) / 4) for number in range(5)]
        cls.day = dt.date(2024, 2, 29)

    def test_a_title_is_lent_once(self):
        lend(self.ann, self.titles[0], self.day)
        with self.assertRaises(IntegrityError), transaction.atomic():
            lend(self.bob, self.titles[0], self.day)
        self.assertEqual(self.bob.loans.count(), 0)

    def test_a_title_that_came_back_is_lent_again(self):
        loan = lend(self.ann, self.titles[0], self.day)
        self.assertTrue(give_back(loan, self.day))
        self.assertFalse(give_back(loan, self.day))
        lend(self.bob, self.titles[0], self.day)
        self.assertEqual(self.titles[0].loans.count(), 2)

    def test_the_third_loan_costs(self):
        for title in self.titles[:4]:
            lend(self.ann, title, self.day)
        self.ann.refresh_from_db()
        self.assertEqual(self.ann.fee, 2)

    def test_sums_and_counts(self):
        self.assertEqual(Title.objects.aggregate(total=Sum("price"))["total"], Decimal("2.50"))
        lend(self.ann, self.titles[3], self.day)
        counts = Reader.objects.filter(pk__in=[self.ann.pk, self.bob.pk]).annotate(n=Count("loans")).order_by("name")
        self.assertEqual([(reader.name, reader.n) for reader in counts], [("Ann", 1), ("Bob", 0)])

    def test_prices_change_together(self):
        Title.objects.update(price=F("price") + 1)
        self.assertEqual(Title.objects.get(name="Title 4").price, Decimal("2.00"))

    def test_tags_come_and_go(self):
        tag = Tag.objects.create(name="blå")
        self.titles[0].tags.add(tag)
        self.titles[1].tags.add(tag)
        self.assertEqual(Title.objects.filter(tags=tag).count(), 2)
        tag.delete()
        self.assertFalse(Title.objects.filter(tags__name="blå").exists())


class Staff(TestCase):
    def setUp(self):
        User.objects.create_superuser("boss", "boss@example.org", "secret")

    def test_the_admin_adds_a_title(self):
        self.client.login(username="boss", password="secret")
        page = {"name": "New", "price": "3.50", "details": "{\"a\": 1}", "printed": "2024-01-31",
                "token": "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "rating": "4.5"}
        self.assertRedirects(self.client.post("/admin/library/title/add/", page), "/admin/library/title/")
        self.assertEqual(Title.objects.get(name="New").details, {"a": 1})
        self.assertContains(self.client.get("/admin/library/title/"), "New")

    def test_a_stranger_is_sent_away(self):
        self.assertRedirects(self.client.get("/admin/"), "/admin/login/?next=/admin/")


class Commits(TransactionTestCase):
    def test_what_fails_leaves_nothing(self):
        with self.assertRaises(KeyError), transaction.atomic():
            Tag.objects.create(name="lost")
            raise KeyError
        self.assertEqual(Tag.objects.count(), 0)

    def test_what_is_committed_stays(self):
        Tag.objects.create(name="kept")
        self.assertEqual([tag.name for tag in Tag.objects.all()], ["kept"])
        Tag.objects.filter(name="kept").update(name="changed")
        self.assertTrue(Tag.objects.filter(name="changed").exists())

    def test_numbers_begin_where_the_table_begins(self):
        self.assertEqual(Tag.objects.count(), 0)
        first = Tag.objects.create(name="one")
        second = Tag.objects.create(name="two")
        self.assertGreater(second.pk, first.pk)
