"""Two customers use one voucher. SHOP_WAY is buggy, wrong-fix or right-fix."""

import os
from concurrent.futures import ThreadPoolExecutor

from django.db import OperationalError, connection
from django.test import TransactionTestCase

from .models import Voucher
from .redeem import WAYS, AlreadyUsed


class Customer:
    """A customer's own thread, and so, as Django has it, a connection of its own. It is opened before anything happens."""

    def __init__(self, name):
        self.name = name
        self.thread = ThreadPoolExecutor(max_workers=1)
        self.thread.submit(lambda: connection.ensure_connection()).result()

    def redeems(self, way, code):
        """Whether the shop took the voucher."""
        try:
            self.thread.submit(WAYS[way], code, self.name).result()
            return True
        except (AlreadyUsed, OperationalError):
            return False

    def leaves(self):
        self.thread.submit(lambda: connection.close()).result()
        self.thread.shutdown()


class Vouchers(TransactionTestCase):
    def test_a_voucher_is_used_once(self):
        Voucher.objects.create(code="SPRING")
        ann, bob = Customer("Ann"), Customer("Bob")
        try:
            taken = [customer.redeems(os.environ.get("SHOP_WAY", "buggy"), "SPRING") for customer in (ann, bob)]
        finally:
            ann.leaves()
            bob.leaves()
        self.assertLessEqual(taken.count(True), 1, "the voucher was used twice")
