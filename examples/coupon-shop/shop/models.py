"""A voucher may be applied to one order."""

from django.db import models


class Voucher(models.Model):
    code = models.CharField(max_length=20, unique=True)


class Application(models.Model):
    """That a customer used a voucher. Nothing here says that it can be used once."""

    voucher = models.ForeignKey(Voucher, on_delete=models.CASCADE, related_name="applications")
    customer = models.CharField(max_length=40)


class OnlyApplication(models.Model):
    """The same, and the database holds that there is one: the right fix."""

    voucher = models.OneToOneField(Voucher, on_delete=models.CASCADE, related_name="only_application")
    customer = models.CharField(max_length=40)
