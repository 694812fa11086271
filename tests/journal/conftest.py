"""The same scenarios on SQLite, and with EZ_PTC_TEST_POSTGRES on PostgreSQL."""

import os
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
# These are about files: their bytes, their locks, their disk. `tests/journal/stores` has what is there instead.
_OF_FILES = (
    "storage/",
    "test_damage.py",
    "test_full_disk.py",
    "test_locks.py",
    "test_power_loss.py",
    "test_small_disks.py",
    "test_states_index.py",
    "test_store.py",
    "test_upgrades.py",
    "test_backups.py",
    "upkeep/test_copying.py",
    "test_copied_journal_needs_its_key",
    "test_file_that_is_no_journal_is_refused",
    "test_database_of_another_application_is_refused",
    "test_journal_of_another_version_is_refused",
    "test_folder_instead_of_a_journal_is_refused",
    "test_read_only_journal_and_folder_are_refused",
    "test_damaged_result_is_not_resumed_silently",
    "test_call_of_another_process_is_running_until_that_is_gone",
    "test_page_is_checked_and_others_are_not",
    "test_no_writer_waits_for_a_reader",
    "test_room_made_by_pruning_counts",
    "test_log_counts_as_room_in_use",
    "test_contents_in_use_stay",
    "test_large_results_are_removed_by_writing_little",
    "test_pruned_results_are_gone_after_a_vacuum",
    "test_run_on_a_damaged_page_says_how_to_save_the_others",
    "test_damaged_row_with_the_number_of_a_pruned_run_is_discarded",
    "test_journal_that_cannot_be_written_says_what_to_do",
    "test_journal_interrupted_anywhere_loses_nothing[journal/locks.py",
    # The clock is the server's.
    "test_age_counts_from_the_newest_event",
    "test_programs_under_a_clock_that_is_ahead",
    "test_session_is_as_old_as_its_last_program",
    "test_failed_run_stays_while_a_failed_correction_of_it_does",
    "test_corrections_that_leave_a_session_and_come_back_stay_with_it",
)


def pytest_configure() -> None:
    """Let paths of journals stand for schemas, here and in each interpreter that a test starts."""
    if "EZ_PTC_TEST_POSTGRES" in os.environ:
        from tests.journal.stores.substitute import substitute_files

        substitute_files()
        folders = (str(_ROOT / "tests/journal/stores/everywhere"), str(_ROOT), os.environ.get("PYTHONPATH", ""))
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, folders))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what is about files, where there are none."""
    if "EZ_PTC_TEST_POSTGRES" in os.environ:
        items[:] = [item for item in items if not any(name in item.nodeid for name in _OF_FILES)]
