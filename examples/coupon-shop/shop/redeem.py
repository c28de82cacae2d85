"""Using a voucher: as a shop did it, with the fix that looks right, and with the one that is."""

from django.db import IntegrityError, transaction

from .models import Application, OnlyApplication, Voucher


class AlreadyUsed(Exception):
    pass


def redeem(code, customer):
    """Counts, then inserts. Two customers may both count none."""
    with transaction.atomic():
        voucher = Voucher.objects.get(code=code)
        if voucher.applications.count() > 0:
            raise AlreadyUsed
        Application.objects.create(voucher=voucher, customer=customer)


def redeem_with_locks(code, customer):
    """Locks the applications that there are. When there are none yet, nothing is locked."""
    with transaction.atomic():
        voucher = Voucher.objects.get(code=code)
        if list(voucher.applications.select_for_update()):
            raise AlreadyUsed
        Application.objects.create(voucher=voucher, customer=customer)


def redeem_once(code, customer):
    """Leaves it to the database that there is one."""
    try:
        with transaction.atomic():
            voucher = Voucher.objects.get(code=code)
            OnlyApplication.objects.create(voucher=voucher, customer=customer)
    except IntegrityError as error:
        raise AlreadyUsed from error


WAYS = {"buggy": redeem, "wrong-fix": redeem_with_locks, "right-fix": redeem_once}
