"""The queue of sessions to learn from."""

from sqlalchemy import text as sql

from playbook_db.services.learning import queue
from playbook_db.services.project import Project


def test_job_is_given_up_after_six_tries(project: Project) -> None:
    queue.take_in(project.store, project.key, {"session_id": "s-1", "transcript_path": "/s-1.jsonl"})
    states = []
    for _ in range(6):
        with project.store.transaction() as connection:  # as if the wait were over
            connection.execute(sql("UPDATE jobs SET not_before = NULL"))
        job = queue.claim(project.store)
        assert job is not None
        queue.note_failure(project.store, job, "the model is busy", for_good=False)
        states.append(queue.list_jobs(project.store)[0].state)

    assert states == ["queued"] * 5 + ["failed"]


def test_failed_job_makes_way_for_a_new_one_of_its_transcript(project: Project) -> None:
    for _ in range(2):
        queue.take_in(project.store, project.key, {"session_id": "s-1", "transcript_path": "/s-1.jsonl"})
        if len(queue.list_jobs(project.store)) == 1:
            job = queue.claim(project.store)
            assert job is not None
            queue.note_failure(project.store, job, "the model is busy", for_good=True)

    queue.retry_all(project.store)

    assert [(each.id, each.state) for each in queue.list_jobs(project.store)] == [(2, "queued")]
