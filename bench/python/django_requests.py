"""Requests to a Django application: routing, middleware, a form, a template of 50 rows, sessions
in cookies."""
import sys

import django
from django import forms
from django.conf import settings
from django.http import HttpResponse, JsonResponse
from django.template import engines
from django.test import Client
from django.urls import path

settings.configure(
    ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="k" * 50, USE_TZ=True,
    SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",
    INSTALLED_APPS=["django.contrib.sessions"],
    MIDDLEWARE=["django.middleware.security.SecurityMiddleware",
                "django.contrib.sessions.middleware.SessionMiddleware",
                "django.middleware.common.CommonMiddleware",
                "django.middleware.csrf.CsrfViewMiddleware"],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}])
django.setup()
PAGE = engines["django"].from_string("""<html><title>{{ title|title }}</title><table>
{% for row in rows %}<tr class="{% cycle 'odd' 'even' %}"><td>{{ row.number }}</td>
<td>{{ row.name|upper|escape }}</td><td>{{ row.price|floatformat:2 }}</td></tr>
{% empty %}nothing{% endfor %}</table>{% if user %}{{ user }}{% endif %}</html>""")


class Search(forms.Form):
    text = forms.CharField(max_length=50)
    number = forms.IntegerField(min_value=0)


def page(request, number):
    request.session["seen"] = request.session.get("seen", 0) + 1
    rows = [{"number": i, "name": f"item <{i}>", "price": i * number / 7} for i in range(50)]
    return HttpResponse(PAGE.render({"title": f"page {number}", "rows": rows, "user": "me"}, request))


def search(request):
    form = Search(request.POST)
    return JsonResponse({"valid": form.is_valid(), "data": form.cleaned_data})


urlpatterns = [path("page/<int:number>/", page), path("search/", search)]
client = Client()
for turn in range(int(sys.argv[1])):
    assert client.get(f"/page/{turn}/").status_code == 200
    assert client.post("/search/", {"text": "abc", "number": turn}).json()["valid"]
