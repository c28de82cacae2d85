"""Django from nothing: migrate with auth and admin, the ORM, transactions, locks, the admin through the test client, and back."""

import datetime as dt
import os
import uuid
from decimal import Decimal

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "project.settings"
django.setup()

from django.contrib.auth.models import Group, Permission, User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import IntegrityError, connection, transaction  # noqa: E402
from django.db.models import Avg, Case, Count, Exists, F, Max, OuterRef, Q, Subquery, Sum, Value, When  # noqa: E402
from django.db.models.functions import Coalesce, ExtractYear, Lower, TruncMonth  # noqa: E402
from django.db.models.deletion import ProtectedError  # noqa: E402
from django.test import Client  # noqa: E402
from library.models import Loan, Reader, Tag, Title  # noqa: E402


def rows():
    tags = Tag.objects.bulk_create([Tag(name=name) for name in ("prose", "vers", "日本")])
    assert all(tag.pk for tag in tags)
    token = uuid.UUID(int=99)
    genji = Title.objects.create(name="源氏物語", printed=dt.date(1021, 11, 1), price=Decimal("31.40"), cover=b"\x00\x80\xff", token=token,
                                 rating=0.1, details={"volumes": [1, 2], "translator": None, "place": {"city": "Kyōto"}})
    genji.tags.set(tags[1:])
    again = Title.objects.get(token=token)
    assert (again.name, again.printed, again.price, bytes(again.cover), again.rating) == \
        ("源氏物語", dt.date(1021, 11, 1), Decimal("31.40"), b"\x00\x80\xff", 0.1)
    assert again.details == genji.details and again.added.tzinfo is not None
    Title.objects.bulk_create([Title(name=f"Volume {number:03}", price=number, printed=dt.date(2000 + number % 3, 1 + number % 12, 1))
                               for number in range(1, 101)], batch_size=40)
    assert Title.objects.count() == 101
    bare = Title.objects.get(name="Volume 007")
    assert bare.cover is None and bare.token is None and bare.details == {} and bare.price == Decimal("7.00")
    title, is_new = Title.objects.get_or_create(name="Volume 007")
    assert not is_new and title == bare
    reader, is_new = Reader.objects.update_or_create(email="ann@example.org", defaults={"name": "Ann"})
    assert is_new and reader.city == "nowhere" and Reader.objects.get(email="house@example.org").fee == 3
    Tag.objects.bulk_create([Tag(name="prose"), Tag(name="new")], ignore_conflicts=True)
    assert Tag.objects.count() == 4


def queries():
    volumes = Title.objects.filter(name__startswith="Volume")
    assert volumes.filter(Q(price__lt=3) | Q(price__gt=98)).count() == 4
    assert volumes.exclude(price__in=[1, 2]).filter(name__iendswith="5").order_by("-name").first().name == "Volume 095"
    assert volumes.aggregate(Sum("price"), Avg("price"), Max("printed"), n=Count("*")) == \
        {"price__sum": Decimal("5050.00"), "price__avg": Decimal("50.50"), "printed__max": dt.date(2002, 12, 1), "n": 100}
    years = volumes.annotate(year=ExtractYear("printed")).values("year").annotate(n=Count("id")).order_by("year")
    assert [(row["year"], row["n"]) for row in years] == [(2000, 33), (2001, 34), (2002, 33)], list(years)
    assert volumes.annotate(month=TruncMonth("printed")).values("month").distinct().count() == 12
    assert volumes.filter(printed__year=2001, printed__month=2).count() == 9
    assert Title.objects.filter(details__place__city="Kyōto").count() == 1
    assert Title.objects.filter(details__volumes__contains=[2]).get().tags.count() == 2
    assert list(Title.objects.filter(tags__name="日本").values_list("name", flat=True)) == ["源氏物語"]
    size = Case(When(price__lt=10, then=Value("low")), default=Value("high"))
    assert list(volumes.annotate(size=size).values_list("size").annotate(n=Count("id")).order_by("size")) == [("high", 91), ("low", 9)]
    assert Reader.objects.annotate(low=Lower("name")).filter(low__contains="nn").get().name == "Ann"
    assert volumes.filter(name__regex=r"^Volume 0[12]0$").count() == 2
    assert Title.objects.filter(name__icontains="volume 10").union(Title.objects.filter(tags__name="vers").order_by()).count() == 2
    assert list(volumes.values_list("price", flat=True)[10:12]) == [Decimal(11), Decimal(12)]


def changes():
    changed = Title.objects.filter(name__startswith="Volume", price__lte=10).update(price=F("price") * 2, rating=F("price") / 4)
    assert changed == 10
    assert Title.objects.get(name="Volume 004").price == Decimal("8.00")
    some = list(Title.objects.filter(name__in=["Volume 050", "Volume 051"]))
    for title in some:
        title.details = {"seen": title.name}
    assert Title.objects.bulk_update(some, ["details"]) == 2
    assert Title.objects.get(details__seen="Volume 051").price == 51
    deleted, _ = Title.objects.filter(price__gte=90).delete()
    assert deleted == 11 and Title.objects.count() == 90


def loans():
    ann, title = Reader.objects.get(name="Ann"), Title.objects.get(name="Volume 001")
    loan = Loan.objects.create(reader=ann, title=title, since=dt.date(2024, 2, 29))
    try:
        with transaction.atomic():
            Loan.objects.create(reader=ann, title=title, since=dt.date(2024, 3, 1))
        raise AssertionError("lent twice")
    except IntegrityError as error:
        assert "lent_once" in str(error)
    try:
        ann.delete()
        raise AssertionError("a reader with loans is gone")
    except ProtectedError:
        pass
    try:
        with transaction.atomic():
            Reader.objects.filter(pk=ann.pk).update(fee=77)
            Title.objects.filter(pk=title.pk).update(price=-1)
        raise AssertionError("a negative price")
    except IntegrityError as error:
        assert "price_is_not_negative" in str(error)
    ann.refresh_from_db()
    assert ann.fee == 0
    with transaction.atomic():
        locked = Reader.objects.select_for_update().get(pk=ann.pk)
        locked.fee = F("fee") + 5
        locked.save(update_fields=["fee"])
        Loan.objects.filter(pk=loan.pk).update(returned=dt.date(2024, 3, 9))
    assert Loan.objects.select_related("reader", "title").get().reader.fee == 5
    Loan.objects.create(reader=ann, title=title, since=dt.date(2024, 4, 1))
    busy = Title.objects.filter(Exists(Loan.objects.filter(title=OuterRef("pk"), returned=None)))
    assert [found.name for found in busy] == ["Volume 001"]
    latest = Loan.objects.filter(reader=OuterRef("pk")).order_by("-since").values("since")[:1]
    assert Reader.objects.annotate(last=Subquery(latest)).get(name="Ann").last == dt.date(2024, 4, 1)
    counted = Reader.objects.annotate(n=Count("loans"), fees=Coalesce(Sum("fee"), 0)).order_by("name").values_list("name", "n")
    assert list(counted) == [("Ann", 2), ("The house", 0)]
    assert len(Reader.objects.prefetch_related("loans__title").get(name="Ann").loans.all()) == 2


def callbacks():
    seen = []
    with transaction.atomic():
        transaction.on_commit(lambda: seen.append("committed"))
        sid = transaction.savepoint()
        Tag.objects.create(name="for a moment")
        transaction.savepoint_rollback(sid)
    assert seen == ["committed"] and not Tag.objects.filter(name="for a moment").exists()
    try:
        with transaction.atomic():
            Tag.objects.all().delete()
            raise KeyError
    except KeyError:
        assert Tag.objects.count() == 4
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM library_tag WHERE name = %s", ["vers"])
        assert cursor.fetchall() == [("vers",)]
    assert [tag.name for tag in Tag.objects.order_by("pk").iterator(chunk_size=2)][:2] == ["prose", "vers"]


def people():
    user = User.objects.create_superuser("boss", "boss@example.org", "secret")
    group = Group.objects.create(name="staff")
    group.permissions.add(Permission.objects.get(codename="change_title"))
    plain = User.objects.create_user("clerk", password="word")
    plain.groups.add(group)
    assert plain.has_perm("library.change_title") and not plain.has_perm("library.delete_title")
    assert user.check_password("secret") and User.objects.filter(groups__name="staff").get() == plain


def admin():
    client = Client()
    assert client.get("/admin/").status_code == 302
    answer = client.post("/admin/login/?next=/admin/", {"username": "boss", "password": "secret"})
    assert answer.status_code == 302 and answer["Location"] == "/admin/"
    assert b"Titles" in client.get("/admin/").content
    page = client.get("/admin/library/title/?q=Volume+05&o=-2")
    assert page.status_code == 200 and b"Volume 059" in page.content
    answer = client.post("/admin/library/reader/add/", {"name": "Bob", "email": "bob@example.org", "city": "Ulm", "fee": "2", "active": "on"})
    assert answer.status_code == 302, answer.content
    bob = Reader.objects.get(name="Bob")
    assert client.get(f"/admin/library/reader/{bob.pk}/change/").status_code == 200
    assert b"Bob" in client.get(f"/admin/library/reader/{bob.pk}/history/").content
    answer = client.post(f"/admin/library/reader/{bob.pk}/delete/", {"post": "yes"})
    assert answer.status_code == 302 and not Reader.objects.filter(name="Bob").exists()
    assert client.post("/admin/logout/").status_code == 200


def main():
    call_command("migrate", verbosity=0, interactive=False)
    call_command("migrate", verbosity=0, interactive=False)
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
    for step in (rows, queries, changes, loans, callbacks, people, admin):
        step()
    assert {"library_title", "auth_user", "django_admin_log"} <= set(connection.introspection.table_names())
    call_command("migrate", "library", "0001", verbosity=0)
    call_command("migrate", "library", "zero", verbosity=0)
    assert "library_title" not in connection.introspection.table_names()
    print("ok Django")


if __name__ == "__main__":
    main()
