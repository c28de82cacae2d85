"""What the admin shows."""

from django.contrib import admin

from .models import Reader, Title


@admin.register(Title)
class TitleAdmin(admin.ModelAdmin):
    list_display = ["name", "price"]
    list_filter = ["printed"]
    search_fields = ["name"]


admin.site.register(Reader)
