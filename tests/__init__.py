import pytest

# Before any helper is imported: a failing assert there tells of its values too.
pytest.register_assert_rewrite("tests.helpers")
