"""Readers borrow copies of titles."""

from django.db import models


class Tag(models.Model):
    name = models.CharField(max_length=30, unique=True)

    def __str__(self):
        return self.name


class Title(models.Model):
    name = models.CharField(max_length=200, db_index=True)
    printed = models.DateField(null=True, blank=True)
    price = models.DecimalField(max_digits=8, decimal_places=2, null=True, blank=True)
    details = models.JSONField(default=dict, blank=True)
    cover = models.BinaryField(null=True)
    token = models.UUIDField(null=True, unique=True)
    rating = models.FloatField(null=True)
    added = models.DateTimeField(auto_now_add=True)
    tags = models.ManyToManyField(Tag, blank=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.CheckConstraint(condition=models.Q(price__gte=0), name="price_is_not_negative")]

    def __str__(self):
        return self.name


class Reader(models.Model):
    name = models.CharField(max_length=80)
    email = models.EmailField(unique=True)
    active = models.BooleanField(default=True)
    city = models.CharField(max_length=40, default="nowhere")
    fee = models.IntegerField(default=0)

    def __str__(self):
        return self.name


class Loan(models.Model):
    reader = models.ForeignKey(Reader, on_delete=models.PROTECT, related_name="loans")
    title = models.ForeignKey(Title, on_delete=models.CASCADE, related_name="loans")
    since = models.DateField()
    returned = models.DateField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["title"], condition=models.Q(returned__isnull=True), name="lent_once"),
        ]
